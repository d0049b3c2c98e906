"""The forms of asks and results, in other languages than English. They rest on the patterns of `synopsis_forms`."""

import pytest

from lineage.core.format.synopsis import build_synopsis, list_said, read_weights
from lineage.core.format.turns import ASSISTANT, USER, TurnText


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("画面の表に項目番号を表示するよう修正", "画面の表に項目番号がある"),
        ("설정 파일이 없으니 파일을 만들어줘", "설정 파일이 여기에 있다"),
        ("Прочитай файл и переведи его в формат JSON", "Файл уже в формате JSON"),
        ("Erstelle eine Datei mit allen Zeilen", "Die Datei hat alle Zeilen"),
        ("Ajoute une ligne à la table", "La table a une ligne"),
        ("Añade una línea a la tabla", "La tabla tiene una línea"),
        ("Leia o arquivo das tabelas", "O arquivo tem as tabelas"),
    ],
)
def test_what_is_asked_for_is_known_in_other_languages(asked: str, told: str) -> None:
    requested, _ = list_said([TurnText(1, USER, f"{asked}\n\n{told}")], read_weights())
    assert [any(one.features[name] for name in ("request", "imperative")) for one in requested] == [True, False]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("サーバーは二つのポートを待ち受けています。", "ユーザーマニュアルを書き直しました。"),
        ("서버는 두 포트에서 대기 중입니다.", "사용자 설명서를 추가했습니다."),
        ("Сервер слушает два порта этой машины", "Файл со списком компаний штата создан рядом с таблицей"),
        ("Der Server hört auf zwei Ports der Maschine", "Die Datei wurde im Ordner des Projekts erstellt"),
        ("Le serveur écoute sur deux ports de la machine", "Le fichier a été créé dans le dossier du projet"),
        ("El servidor escucha en dos puertos", "El archivo ha sido creado en la carpeta"),
        ("O servidor usa duas portas da máquina", "O arquivo foi criado na pasta do projeto"),
    ],
)
def test_a_result_is_known_in_other_languages(said: str, told: str) -> None:
    assert build_synopsis([TurnText(1, ASSISTANT, f"- {said}\n- {told}")]).outcome == told


@pytest.mark.parametrize(
    "said",
    [
        "では入力欄に何か文字を入力して再生ボタンを押してみてください。",
        "この二つの案のどちらを採用して追加しますか。",
        "现在更新价格锁定的文案，使其符合最终方案",
        "请在设置里添加这个变量然后重新启动服务",
        "Seria uma opção separar o build do backend, concluído em parte?”",
        "설정 파일을 추가한 다음 서버를 다시 시작하세요.",
    ],
)
def test_what_the_person_shall_do_or_the_agent_does_next_is_no_outcome_in_other_languages(said: str) -> None:
    assert build_synopsis([TurnText(1, ASSISTANT, said)]).outcome == ""


@pytest.mark.parametrize(
    "said",
    [
        "现在已更新价格锁定的文案。",
        "请求的超时时间已改为两分钟。",
        "现在侧边栏显示登出按钮，已修复。",
        "现在所有测试都通过了，解析器也修复了",
        "首先修复了解析器，然后添加了测试。",
        "如果没有登录，页面会跳转到登录页，已实现。",
        "Note deletion now works in the sidebar.",
        "Fixed the dialog, which now asks “Are you sure?”",
    ],
)
def test_what_is_done_now_is_an_outcome(said: str) -> None:
    assert build_synopsis([TurnText(1, ASSISTANT, said)]).outcome == said
