import pytest

from plates import formats
from plates.formats import Format, Ground
from plates.regions import REGIONS


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("B840OK197", 1, (Format.CIVIL, "197")),
        ("B840OK77", 2, (Format.CIVIL, "77")),
        ("KH73366", 1, (Format.TAXI, "66")),
        ("EE464752", 1, (Format.TRAILER, "52")),
        ("1234AB77", 2, (Format.MOTORCYCLE, "77")),
        ("AB771234", 2, (Format.MOTORCYCLE, "77")),
        ("AB12CE77", 2, (Format.MOTORCYCLE, "77")),
        ("9023EB43", 1, (Format.MILITARY, "")),
        ("001CD177", 1, (Format.DIPLOMATIC, "77")),
        ("117D005177", 1, (Format.DIPLOMATIC, "177")),
        ("117T00578", 1, (Format.DIPLOMATIC, "78")),
        ("X080527", 1, (Format.POLICE, "27")),
        ("123A77", 1, (Format.POLICE, "77")),
        ("1234A77", 2, (Format.POLICE, "77")),
        ("AE010X35", 1, (Format.TEMPORARY, "35")),
        ("TAB12377", 1, (Format.TRANSIT, "77")),
    ],
)
def test_each_type_is_known_by_its_text_and_lines(text: str, lines: int, expected: tuple[Format, str]) -> None:
    assert formats.parse(text, lines) == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", 1),
        ("B840OK", 1),
        ("B840OK00", 1),
        ("B840OK999", 1),
        ("840BOK197", 1),
        ("B840OK1977", 1),
        ("KH73366", 2),
        ("1234A77", 1),
        ("7777", 1),
        ("0000AB00", 1),
    ],
)
def test_a_text_of_no_type_is_unknown(text: str, lines: int) -> None:
    assert formats.parse(text, lines) == (Format.UNKNOWN, "")


@pytest.mark.parametrize(
    ("text", "lines", "ground", "expected"),
    [
        ("AB123777", 1, Ground.YELLOW, (Format.TAXI, "777")),
        ("AB123777", 1, Ground.WHITE, (Format.TRAILER, "77")),
        ("AB123477", 1, Ground.BLACK, (Format.MILITARY, "")),
        ("AB123477", 1, Ground.WHITE, (Format.TRAILER, "77")),
        ("1234AB77", 2, Ground.BLACK, (Format.MILITARY, "")),
        ("1234AB77", 2, Ground.WHITE, (Format.MOTORCYCLE, "77")),
        ("B840OK197", 1, Ground.RED, (Format.CIVIL, "197")),
    ],
)
def test_the_ground_decides_between_types_that_read_the_same(
    text: str, lines: int, ground: Ground, expected: tuple[Format, str]
) -> None:
    assert formats.parse(text, lines, ground) == expected


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("001O00177", "001D00177"),
        ("001O001177", "001D001177"),
        ("001CO177", "001CD177"),
        ("001CO1177", "001CD1177"),
        ("513O181", "513O181"),
        ("513O81", "513O81"),
        ("O001OO77", "O001OO77"),
        ("1001OO77", "1001OO77"),
    ],
)
def test_a_diplomats_o_is_a_d_and_no_others(read: str, written: str) -> None:
    assert formats.as_written(read) == written


@pytest.mark.parametrize(
    ("code", "english", "russian"),
    [
        ("77", "Moscow", "Москва"),
        ("977", "Moscow", "Москва"),
        ("01", "Republic of Adygea", "Республика Адыгея"),
        ("550", "Moscow Oblast", "Московская область"),
        ("252", "Nizhny Novgorod Oblast", "Нижегородская область"),
        ("778", "Saint Petersburg", "Санкт-Петербург"),
        ("80", "Donetsk People's Republic", "Донецкая Народная Республика"),
        ("181", "Luhansk People's Republic", "Луганская Народная Республика"),
        ("184", "Kherson Oblast", "Херсонская область"),
        ("185", "Zaporizhzhia Oblast", "Запорожская область"),
        ("92", "Sevastopol", "Севастополь"),
    ],
)
def test_regions_have_names(code: str, english: str, russian: str) -> None:
    name = formats.region_name(code)
    assert name is not None
    assert (name.en, name.ru) == (english, russian)


@pytest.mark.parametrize("code", ["", "00", "000", "7", "999", "100", "0777"])
def test_codes_that_nobody_gives_out_have_none(code: str) -> None:
    assert formats.region_name(code) is None


def test_every_two_digit_code_stands_for_a_region() -> None:
    assert {code for code in REGIONS if len(code) == 2} == {f"{code:02d}" for code in range(1, 100)}
