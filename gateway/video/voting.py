"""One text out of many readings of the same plate: a vote for each character.

Reading i gives some candidates t a probability p_i(t); what they leave to 1 is given to no text. Its certainty is
c_i = max_t p_i(t), and each candidate gets c_i p_i(t) votes, so that the sharp view of a near car counts for more than
many blurred ones of a far car (a linear opinion pool, weighted by certainty). With C the sum of all c_i:

    length      L = argmax_l  sum_i sum_{|t| = l} c_i p_i(t),        V its votes
    character   v_k(a) = sum_i sum_{|t| = L, t_k = a} c_i p_i(t),    text_k = argmax_a v_k(a)
    score       V / C  *  prod_k  v_k(text_k) / V

The text may be one that no single frame read: where a drop of mud or a reflection wanders over the plate, each frame is
wrong in another character. For one reading whose other candidates differ from the best one in a single character each,
at different places, the score is close to that candidate's own probability, and n equal readings give the same score
as one: frames of one car share their dirt, so they don't prove more by being many.

A vote takes the same memory for two frames and for a parked car's whole day.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a vote came to."""

    text: str
    """Empty before anything was read."""
    score: float
    """How far the readings agree on it, 0 to 1."""


@dataclass(slots=True)
class _Ballot:
    """The votes for texts of one length."""

    characters: list[dict[str, float]]
    """For each position, the votes of each character."""
    votes: float = 0.0

    def add(self, text: str, votes: float) -> None:
        self.votes += votes
        for position, character in zip(self.characters, text, strict=True):
            position[character] = position.get(character, 0.0) + votes


@dataclass(slots=True)
class TextVote:
    """Collects readings of one plate."""

    _ballots: dict[int, _Ballot] = field(default_factory=dict)
    _certainty: float = 0.0

    def add(self, candidates: Iterable[tuple[str, float]]) -> None:
        """Take in one reading: texts and their probabilities, which add up to 1 at most."""
        voted = [(text, score) for text, score in candidates if text and score > 0]
        certainty = max((score for _, score in voted), default=0.0)
        self._certainty += certainty
        for text, score in voted:
            ballot = self._ballots.setdefault(len(text), _Ballot([{} for _ in text]))
            ballot.add(text, certainty * score)

    def verdict(self) -> Verdict:
        """Return the text that the readings so far stand for."""
        if not self._ballots:
            return Verdict("", 0.0)
        # Equal votes are decided by the text, not by which frame came first.
        ballot = max(self._ballots.values(), key=lambda ballot: (ballot.votes, len(ballot.characters)))
        winners = [max(sorted(position), key=position.__getitem__) for position in ballot.characters]
        score = ballot.votes / self._certainty
        for winner, position in zip(winners, ballot.characters, strict=True):
            score *= position[winner] / ballot.votes
        return Verdict("".join(winners), min(score, 1.0))
