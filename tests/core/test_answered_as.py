"""Whose name the replies bear: dates are no alarm, another model or several are."""

import pytest

from eqlab.core.answers import akin, in_words, replaced


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("openai/gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("anthropic/claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("google/gemini-1.5-flash", "models/gemini-1.5-flash-002"),
        ("google/gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
        ("litellm/bedrock/us.anthropic.claude-3-sonnet-20240229-v1:0", "claude-3-sonnet-20240229"),
        ("litellm/vertex_ai/claude-3-5-sonnet@20240620", "claude-3-5-sonnet-20240620"),
        ("azure/my-deployment", "gpt-4o-2024-08-06"),
        ("gpt-3.5-turbo", "gpt-35-turbo"),
        ("command-r", "command-r-08-2024"),
        ("ollama/llama3", "llama3:latest"),
        ("vllm/meta-llama/Llama-3-8B-Instruct", "meta-llama/Llama-3-8B-Instruct"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("embedded", "SmolLM2-135M"),
        ("m@node7:8000", "m"),
        ("m", ""),
    ],
)
def test_a_date_or_a_host_is_no_alarm(asked, answered):
    assert akin(asked, answered)
    assert not list(replaced(f"model:{asked}", {answered: 3} if answered else {}))


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("openai/gpt-4o", "gpt-4o-mini-2024-07-18"),
        ("openai/gpt-4", "gpt-4.1"),
        ("gpt-4-0314", "gpt-4-0613"),
        ("openai/o3", "gpt-4o"),
        ("claude-2", "claude-2.1"),
        ("llama-3-70b", "llama-3-8b"),
        ("gpt-4", "gpt-4-32k"),
        ("mistral-7b-instruct-v0.2", "mistral-7b-instruct-v0.3"),
        ("text-davinci-003", "text-davinci-002"),
    ],
)
def test_another_model_is_said(asked, answered):
    assert not akin(asked, answered)
    (said,) = replaced(f"model:{asked}", {answered: 2})
    assert f"{asked} was asked, but {answered} answered (2 replies)" in said


def test_a_file_of_the_servers_is_named_without_its_folders():
    (said,) = replaced("model:llamacpp/other", {"/srv/models/tiny.gguf": 2})
    assert "but tiny.gguf answered" in said
    assert in_words({"/srv/models/tiny.gguf": 2, "org/tiny": 1}) == "tiny.gguf (2 replies), org/tiny (1 reply)"


def test_a_mixture_is_said_even_of_one_model_at_two_dates():
    seen = {"gpt-4o-2024-08-06": 1, "gpt-4o-2024-11-20": 7}
    assert in_words(seen) == "gpt-4o-2024-11-20 (7 replies), gpt-4o-2024-08-06 (1 reply)"
    (said,) = replaced("judge:openai/gpt-4o", seen)
    assert said == f"openai/gpt-4o was replaced during the run: it answered as {in_words(seen)}."


def test_capitals_are_no_other_model():
    assert not list(replaced("model:Llama-3-8B", {"llama-3-8b": 4, "Llama-3-8B": 5}))
