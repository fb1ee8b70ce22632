"""Region codes on Russian plates and the regions that they stand for.

A code is the number of a region, or that number with another digit before it once the numbers of the region ran out.
They are set by order 766 of the Ministry of Internal Affairs (5 October 2017) and its amendments. Here are those that
are on plates or were put aside for them, as of the end of 2026. The newer ones are 252 (Nizhny Novgorod Oblast, May
2023), 250 and 550 (Moscow Oblast, RIA Novosti, 8 February 2024), 778 (Saint Petersburg, Rossiyskaya Gazeta, 24 November
2025), and 80, 81, 84, 85, 180, 181, 184, 185. Codes that aren't given out any more (20, 88, 91) are still on the road;
80, 81, 82, 84 and 85 have changed hands and are named here after the region that gives them out today.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RegionName:
    """Name of a region."""

    ru: str
    en: str


_TABLE: Final = """
01 101                               | Республика Адыгея                        | Republic of Adygea
02 102 702                           | Республика Башкортостан                  | Republic of Bashkortostan
03 103                               | Республика Бурятия                       | Republic of Buryatia
04                                   | Республика Алтай                         | Altai Republic
05                                   | Республика Дагестан                      | Republic of Dagestan
06                                   | Республика Ингушетия                     | Republic of Ingushetia
07                                   | Кабардино-Балкарская Республика          | Kabardino-Balkarian Republic
08                                   | Республика Калмыкия                      | Republic of Kalmykia
09 109                               | Карачаево-Черкесская Республика          | Karachay-Cherkess Republic
10                                   | Республика Карелия                       | Republic of Karelia
11 111                               | Республика Коми                          | Komi Republic
12                                   | Республика Марий Эл                      | Mari El Republic
13 113                               | Республика Мордовия                      | Republic of Mordovia
14                                   | Республика Саха (Якутия)                 | Sakha Republic (Yakutia)
15                                   | Республика Северная Осетия — Алания      | Republic of North Ossetia–Alania
16 116 716                           | Республика Татарстан                     | Republic of Tatarstan
17                                   | Республика Тыва                          | Tuva Republic
18 118                               | Удмуртская Республика                    | Udmurt Republic
19                                   | Республика Хакасия                       | Republic of Khakassia
20 95                                | Чеченская Республика                     | Chechen Republic
21 121                               | Чувашская Республика                     | Chuvash Republic
22 122                               | Алтайский край                           | Altai Krai
23 93 123 193 323                    | Краснодарский край                       | Krasnodar Krai
24 88 124                            | Красноярский край                        | Krasnoyarsk Krai
25 125 725                           | Приморский край                          | Primorsky Krai
26 126                               | Ставропольский край                      | Stavropol Krai
27                                   | Хабаровский край                         | Khabarovsk Krai
28                                   | Амурская область                         | Amur Oblast
29                                   | Архангельская область                    | Arkhangelsk Oblast
30 130                               | Астраханская область                     | Astrakhan Oblast
31                                   | Белгородская область                     | Belgorod Oblast
32                                   | Брянская область                         | Bryansk Oblast
33                                   | Владимирская область                     | Vladimir Oblast
34 134                               | Волгоградская область                    | Volgograd Oblast
35                                   | Вологодская область                      | Vologda Oblast
36 136                               | Воронежская область                      | Voronezh Oblast
37                                   | Ивановская область                       | Ivanovo Oblast
38 138                               | Иркутская область                        | Irkutsk Oblast
39 91 139                            | Калининградская область                  | Kaliningrad Oblast
40                                   | Калужская область                        | Kaluga Oblast
41                                   | Камчатский край                          | Kamchatka Krai
42 142                               | Кемеровская область — Кузбасс            | Kemerovo Oblast (Kuzbass)
43                                   | Кировская область                        | Kirov Oblast
44                                   | Костромская область                      | Kostroma Oblast
45                                   | Курганская область                       | Kurgan Oblast
46                                   | Курская область                          | Kursk Oblast
47 147                               | Ленинградская область                    | Leningrad Oblast
48                                   | Липецкая область                         | Lipetsk Oblast
49                                   | Магаданская область                      | Magadan Oblast
50 90 150 190 250 550 750 790        | Московская область                       | Moscow Oblast
51                                   | Мурманская область                       | Murmansk Oblast
52 152 252                           | Нижегородская область                    | Nizhny Novgorod Oblast
53                                   | Новгородская область                     | Novgorod Oblast
54 154 754                           | Новосибирская область                    | Novosibirsk Oblast
55 155                               | Омская область                           | Omsk Oblast
56 156                               | Оренбургская область                     | Orenburg Oblast
57                                   | Орловская область                        | Oryol Oblast
58 158                               | Пензенская область                       | Penza Oblast
59 159                               | Пермский край                            | Perm Krai
60                                   | Псковская область                        | Pskov Oblast
61 161 761                           | Ростовская область                       | Rostov Oblast
62                                   | Рязанская область                        | Ryazan Oblast
63 163 763                           | Самарская область                        | Samara Oblast
64 164                               | Саратовская область                      | Saratov Oblast
65                                   | Сахалинская область                      | Sakhalin Oblast
66 96 196                            | Свердловская область                     | Sverdlovsk Oblast
67                                   | Смоленская область                       | Smolensk Oblast
68                                   | Тамбовская область                       | Tambov Oblast
69 169                               | Тверская область                         | Tver Oblast
70                                   | Томская область                          | Tomsk Oblast
71                                   | Тульская область                         | Tula Oblast
72 172                               | Тюменская область                        | Tyumen Oblast
73 173                               | Ульяновская область                      | Ulyanovsk Oblast
74 174 774                           | Челябинская область                      | Chelyabinsk Oblast
75                                   | Забайкальский край                       | Zabaykalsky Krai
76                                   | Ярославская область                      | Yaroslavl Oblast
77 97 99 177 197 199 277 299 777 797 799 977 | Москва                                   | Moscow
78 98 178 198 778                    | Санкт-Петербург                          | Saint Petersburg
79                                   | Еврейская автономная область             | Jewish Autonomous Oblast
80 180                               | Донецкая Народная Республика             | Donetsk People's Republic
81 181                               | Луганская Народная Республика            | Luhansk People's Republic
82                                   | Республика Крым                          | Republic of Crimea
83                                   | Ненецкий автономный округ                | Nenets Autonomous Okrug
84 184                               | Херсонская область                       | Kherson Oblast
85 185                               | Запорожская область                      | Zaporizhzhia Oblast
86 186                               | Ханты-Мансийский автономный округ — Югра | Khanty-Mansi Autonomous Okrug–Yugra
87                                   | Чукотский автономный округ               | Chukotka Autonomous Okrug
89                                   | Ямало-Ненецкий автономный округ          | Yamalo-Nenets Autonomous Okrug
92 192                               | Севастополь                              | Sevastopol
94                                   | Территории вне России (Байконур)         | Territories outside Russia (Baikonur)
"""


def _parse(table: str) -> dict[str, RegionName]:
    named: dict[str, RegionName] = {}
    for line in table.strip().splitlines():
        codes, russian, english = (part.strip() for part in line.split("|"))
        named |= dict.fromkeys(codes.split(), RegionName(russian, english))
    return named


REGIONS: Final = _parse(_TABLE)
"""Name of each code."""
