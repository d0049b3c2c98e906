"""What a person states for good is told to later sessions, and what holds for the moment is not.

The sentences were written by people who had not seen the rules. Each stands in the middle of a session about another
thing. Fails without `_is_rule`'s habits, customs and lasting words, or without what is passing.
"""

import pytest

from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.extraction.candidates import extract_candidates
from lineage.extraction.sentence_kinds import CONTEXT, TASK

BEFORE = [
    Turn(USER, "Can you look at the upload handler, it returns 500?", id="t1"),
    Turn(ASSISTANT, "I read the handler and changed the check of its size.", id="t2"),
]
AFTER = [
    Turn(ASSISTANT, "OK, I changed it accordingly.", id="t4"),
    Turn(USER, "Now run the whole suite once more please", id="t5"),
    Turn(ASSISTANT, "The suite passes; 214 tests.", id="t6"),
]
LASTING = """
Always format dates according to ISO 8601.
Always use the package manager pnpm, never npm.
Always put access to state through the store manager.
Never push to main until I approve.
Never merge until we have green CI.
never store passwords in temporary files
Never call the experiment API directly, always go through flags.ts
Never delete code that is used to migrate old data.
Every article must always have a slug.
Never let someone log in without 2FA.
always validate the claims of the token
Always write error messages so that someone can act on them.
From now on, don't create files without a test.
Always run lint before committing. Ignore that warning in build.log.
Never touch vendor/. Oh wait, the build is red, fix that too.
Always use pnpm. Forget it if the lockfile is missing.
I'd rather have small pull requests than one giant one
from here on, run the linter before you tell me you're done
hey, no emojis in commit messages please
stick to the standard library unless I say otherwise
as a general principle, errors get wrapped with context before they bubble up
Don't ask me before running the tests, just run them.
When you write SQL, put keywords in upper case.
I can't stand nested ternaries.
migrations must be reversible, every single one
Branches are named feature/TICKET-slug around here
For the record: staging deploys go through the bot, not by hand
Keep functions under 40 lines, thanks
In all projects, never use Borogovium.
In all my projects: never use tabs.
Everywhere: never push to a shared branch.
In diesem Repo nie direkt auf main committen.
En este repo nunca hagas commit directo a main.
In this repo, never commit directly to main. From now on, always run `make lint` before a push.
We changed our mind: `make lint` before every commit is no longer needed.
Signing commits is no longer necessary.
Wir haben es uns anders überlegt: `make lint` vor jedem Commit ist nicht mehr nötig.
Commits müssen nicht mehr signiert werden.
Hemos cambiado de idea: `make lint` antes de cada commit ya no hace falta.
Il n'est plus nécessaire de signer les commits.
Mudamos de ideia: `make lint` antes de cada commit não é mais necessário.
コミット前の `make lint` はもう必要ありません。
提交前不再需要运行 `make lint`。
we standardised on zod for validation
it's a hard rule that secrets only come from vault
You must not bump dependencies without asking me.
Remember that the CI runs on Node 18, so no fetch without polyfill
My preference would be composition over inheritance.
Bitte keine englischen Kommentare im Code, das Team schreibt deutsch.
En este proyecto los tests van junto al código, no en una carpeta aparte.
このプロジェクトではnpmではなくpnpmを使ってください。
All new endpoints need an integration test.
Treat warnings as errors, that's how we roll
Our convention is snake_case for JSON keys.
Whenever you change the API, update the openapi.yaml too.
No more mocks of the database, we use testcontainers.
I like early returns better than else branches.
never ever force-push to main
Wir nutzen hier immer Poetry statt pip.
Dans ce projet, on n'utilise jamais lodash.
we don't do default exports in this codebase
you keep using any — use unknown instead, in all of this repo
Let's agree that we squash-merge everything
in this repo you run tests with make check, not pytest directly
Logging goes through structlog, print statements are banned.
please stop adding comments everywhere
Use two spaces for indentation.
From now on write commit messages in English.
don't use default exports, we stick to named ones everywhere
pls stop adding comments that just restate the code
no emojis in the readme or in commit messages, thanks
Never touch anything under vendor/, that gets overwritten by the sync script.
do not run prisma migrate reset, not even on the dev db. other people share it
no new dependencies without asking me first
Don't put secrets in .env.example, it's checked in and public.
dont push to main directly, everything goes through a PR
use pnpm not npm, the lockfile is pnpm
Run ruff and mypy before you tell me something is done.
when you add an endpoint, add it to the openapi file too
Squash before merging, we keep a linear history.
always use the logger from @acme/log, console.log doesn't reach datadog
Use UTC for every timestamp we store, convert only in the UI.
SQL goes in .sql files under queries/, not inline in the go code
we don't do barrel files here, they killed our build times
we support python 3.9 because two customers are still on RHEL 8, so no match statements
in our team whoever opens the PR merges it, reviewers only approve
we only target evergreen browsers, so skip the polyfills
I prefer small commits, one logical change each.
Generally I like early returns over nested ifs.
I want to see a plan before you touch more than a couple of files. Every time.
I'd like you to ask when a requirement is ambiguous instead of guessing.
I like short answers. Code first, explanation only if I ask.
my preference is table driven tests in go
All user-facing strings must go through i18next.
Migrations have to be reversible, our on-call rolls back without asking.
""".strip().splitlines()
PASSING = """
In this project, add a healthcheck endpoint to the server
in this repo there are 3 failing tests, fix them
in this project find all uses of requests and replace them with httpx
Write commit messages for these two changes
fix the commit messages of the last three commits
delete the branch names from the output
Whenever you're ready, start with the migration
Use branch feature/login and rebase onto main
Use Postgres 16 docker image and rerun migrations
use curl to hit localhost:3000 and show headers
put Dockerfile in root folder and run compose
Put logging around parse_config and rerun
Name candidates for a logo
quit vim and rerun make
avoid editing Makefile in PR 412
stop adding logging, I found the bug
stop writing tests, go back to the parser
respond in one sentence: what does parse do
answer in two lines what this function does
Reply in the thread of PR 12
reply in German to my last message
I'd rather see the logs first
do not change anything, only answer
Stick with option B for the parser
keep reading, there is more in section 3
Whenever I click save, nothing happens
whenever a user logs in twice, sessions get lost
All requests to /api/users return 500
Every request to staging returns 502
Each retry takes 30 seconds on CI
The user is not allowed to log in, find out why
I hate that CI is red again
branches are out of sync again
we run tests with pytest -x and get a segfault
nobody answers on port 8080
request goes through nginx and times out
anything that logs to stdout breaks the parser, find it
if you need to log in, password is hunter2
we deploy in 10 minutes, hurry up
we ship Friday, so cut scope
We're a bit late, please hurry with migration
I like your idea, go ahead
Keine Ahnung warum Tests fehlschlagen
das Team testet morgen die Beta
bei uns ist gerade Montag
nutze Port 8081 und starte neu
usa puerto 8081 y reinicia
utilise port 8081 et relance
このルールを削除してください
ルールエンジンのバグを修正してください
リリース方針について資料を作成してください
修复这个仓库里的编译错误
这个仓库的测试失败了
把文件放在临时目录里然后运行
haha sure, let's always deploy on Friday at 5pm, what could go wrong
my boss says always use the Oracle driver, but he's wrong
my boss says to always write Java, no idea why
oh great, another rule: never write code without three approvals
run the tests always with -x until we find this bug
always use tabs... no wait, spaces
Never use mocks. Hmm, scratch that, mocks are fine here.
Always use tabs in this project. Just kidding, use spaces.
Never commit to main!! lol just joking
Never, ever touch prod.db. jk
Always deploy on Friday evening. I'm joking of course.
Never use mocks. Hmm, wait.
Never use mocks. Oh wait, no.
Always deploy on Friday evening. That's a joke.
Always deploy on Friday evening. I was just kidding!
Always deploy on Friday evening. I take that back.
Immer freitags deployen! Das war ein Scherz.
Nie auf main pushen! War nur Spaß.
Sempre use tabs neste projeto. Brincadeira!
Usa siempre tabuladores en este proyecto. Es broma.
Utilise toujours des tabulations. Je plaisante.
永远不要提交到main。开玩笑的。
In my last job we always used SVN and never branched
Someone on StackOverflow claims you should never use eval
Always look on the bright side of life!
Why do you always break the build when you touch the parser?
I never said you should delete the file
The old team had a convention to prefix every table with tbl_, we got rid of that
yes, always that same stupid error
never thought I'd see this work, nice
Niemals hätte ich gedacht, dass das so schnell geht!
Mein Chef sagt, wir sollen immer Java nehmen, ist mir aber egal
Ma collègue dit toujours qu'il faut tout réécrire en Rust, quelle blague
from now on until lunch, only touch the CSS
always use port 8080 in this one test
let's pretend we always have network
I want you to delete the three old branches
Let's go with option B for this experiment only, we will throw it away tomorrow
I used to prefer tabs but not any more
The error message should say: never share your password
Never mind, it works now
never mind the last message, I found it
I prefer the second one
use this helper everywhere in the upload module
The legacy folder is gone, so never mind my rule about it.
don't forget to push
stop, run the tests first
please make the header blue
I want the table sorted by date
we need a migration for that column
the dialog should close on escape
let's fix the login bug first
can you check why the worker exits with code 137
rename getUserData to fetchUser and update the callers
no, undo that last change
add a unit test for the empty cart case
bump the version to 2.4.1 and tag it
pls rebase this onto main and fix the conflicts
go ahead
Could you explain what this regex does?
not that file, the one in src/api
dont touch the css yet, just get the data loading
I need a csv export button next to the filter
i'd like to see the diff before you commit this one
the modal has to be centered and about 600px wide
The submit button must be disabled until the form is valid.
Write a script that dumps all orders from March to a json file.
make it faster, 8 seconds for this query is nuts
try again with the other approach you mentioned
we should probably drop that index, can you look at the query plan?
let's go with option 2
Remove the console.logs you added for debugging.
I prefer the second mockup, build that one
can we get rid of the warning on line 88?
hmm wait, before you continue, show me what's in config.yaml
please also update the readme section about installation
we have to get this demo working, start with the upload page
need a dockerfile for this, python 3.12 slim should be fine
move the sidebar to the left and make it collapsible
kill the dev server and start it again on 3001
open a PR with what you have, title it "Fix refund rounding"
You forgot the second part of my request, the pagination.
do the same for the products page
wo kommt der Fehler in Zeile 40 her? schau dir das bitte mal an
tu peux corriger les tests qui cassent dans le module facture ?
añade un botón de cerrar sesión en el menú, por favor
このエラーの原因を調べて直してください
Don't change the function signature in this refactor, only the body of parseHeader.
I don't like how the chart looks, give the bars some more spacing
don't commit that, it still has my test token in it
the tests fail on my machine with ECONNREFUSED
The page flickers when I scroll on safari.
build takes 6 minutes since your last change
it says "module not found: ./utils/date" after the rename
I get two emails when I sign up with google
Looks like the cache is never invalidated after a save, the old name keeps showing up.
the dropdown always opens twice when i click it
memory goes up to 4gb during the import and then the pod restarts
hm the numbers in the report don't match what's in the dashboard, off by about 3%
works now, thanks. still one type error in Header.tsx though
oh great, timezones. always a pleasure
The login page no longer has the button to reset the password.
User 42 no longer has access to the billing page since yesterday.
The response of the orders endpoint no longer has the customer name.
After your change the worker no longer needs the lock but hangs.
Debian 13 no longer needs the extra repository for ffmpeg.
Der Button ist nicht mehr nötig, aber er wird noch angezeigt im Menü.
never change, javascript, never change
lol sure, always blame the cache
remind me to never write a parser on a friday night again haha
ah yes the classic "it must be dns", it's always dns
""".strip().splitlines()


STRESSED = """
Kidding aside, it matters.
I'm joking? No, I mean it.
Kidding is not allowed in commit messages.
jk@corp.com reviews it.
Just kidding around with the config broke CI last week.
It was a joke how often CI broke.
Hmm wait for the CI result, too.
Hmm wait, is the linter installed?
No, wait for CI before you push.
Actually no exceptions.
No wait times are allowed.
Scratch that directory clean first.
Scherz beiseite, das ist wichtig.
No es broma.
Je plaisante pas, c'est important.
Brincadeira à parte, isso é importante.
冗談ですませられません。
开玩笑的提交信息也不行。
""".strip().splitlines()


def list_told(text: str) -> list[str]:
    found = extract_candidates([*BEFORE, Turn(USER, text, id="t3"), *AFTER])
    return [one.text for one in found if one.turn_id == "t3" and one.kind not in (CONTEXT, TASK) and not one.waits]


@pytest.mark.parametrize("text", STRESSED)
def test_what_is_said_behind_a_rule_takes_it_back_only_if_it_says_so(text: str) -> None:
    rule = "Always run the linter before you commit."
    assert rule in list_told(f"{rule} {text}")


@pytest.mark.parametrize("text", LASTING)
def test_what_a_person_states_for_good_is_told(text: str) -> None:
    assert list_told(text)


@pytest.mark.parametrize("text", PASSING)
def test_what_holds_for_the_moment_is_not_told(text: str) -> None:
    assert not list_told(text)
