"""Words that say no, in the languages with the most readers."""

from __future__ import annotations

from typing import Final

# Of an unspaced script single characters stand here: they count as words there.
NEGATIONS: Final = frozenset(
    """
    barely cannot denied denies deny denying except excluding fail failed failing fails hardly lack lacked lacking lacks
    neither never no nobody none nor not nothing nowhere refuse refused refuses refusing scarcely without
    kein keine keinem keinen keiner keines nicht nichts nie niemals niemand ohne weder
    aucun aucune jamais pas personne rien sans
    jamás nada nadie ninguna ninguno ningún nunca sin tampoco
    mai nessuna nessuno niente non nulla senza
    nem nenhum nenhuma ninguém não sem
    geen niemand niet niets nooit zonder
    aldri aldrig ikke ingen inget inte intet uden utan uten
    ei eivät emme en et ette
    bez nic nie nigdy nikt ne neni nikdo nikdy není žádný
    без не нельзя нет ни ничего никогда никто немає ні ніколи
    asla değil hiç yok belum bukan jangan tak tidak
    chưa chẳng không
    nincs soha fără nimic niciodată nu
    δεν κανεις μην οχι ποτε χωρις
    بدون غير لا لم لن ليس ليست
    אין אף בלי לא
    बिना मत न नहीं না নেই
    不 别 別 未 没 沒 無 无 非 못 아 안 않 없
    """.split()
)
