import pytest

from plates import alphabet


def test_each_character_has_an_index_of_its_own_and_the_blank_follows() -> None:
    assert alphabet.encode(alphabet.CHARACTERS) == list(range(22))
    assert (alphabet.BLANK, alphabet.CLASSES) == (22, 23)


@pytest.mark.parametrize("text", ["B840ОK197", "b840ok197", "B840OK 197", "Z"])
def test_foreign_characters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a character of Russian plates"):
        alphabet.encode(text)


def test_latin_and_cyrillic_turn_into_one_another() -> None:
    assert alphabet.to_cyrillic("B840OK197") == "В840ОК197"
    assert alphabet.to_latin(alphabet.to_cyrillic(alphabet.CHARACTERS)) == alphabet.CHARACTERS
    assert not set(alphabet.to_cyrillic("ABEKMHOPCTYX")) & set("ABEKMHOPCTYX")
