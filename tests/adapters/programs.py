"""Whole agents of each framework, each in a process of its own: `python programs.py NAME STORE MODEL PROMPT`.

The model is one that says what a test tells it to, at an address on this machine.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from perdure import Memory, tools


async def langgraph(memory: Memory, url: str, prompt: str) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from langmem import create_manage_memory_tool, create_search_memory_tool

    from perdure.adapters.langgraph import PerdureStore

    model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none", max_retries=0)
    own = [create_manage_memory_tool(("memories",)), create_search_memory_tool(("memories",))]
    agent: Any = create_agent(model, tools=own, store=PerdureStore(memory))
    await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})


async def anthropic(memory: Memory, url: str, prompt: str) -> None:
    from anthropic import Anthropic

    from perdure.adapters.anthropic import PerdureMemoryTool

    client = Anthropic(base_url=url, api_key="none", max_retries=0)
    client.beta.messages.tool_runner(
        model="scripted", max_tokens=100, tools=[PerdureMemoryTool(memory)],
        messages=[{"role": "user", "content": prompt}], betas=["context-management-2025-06-27"],
    ).until_done()  # fmt: skip


async def anthropic_async(memory: Memory, url: str, prompt: str) -> None:
    from anthropic import AsyncAnthropic

    from perdure.adapters.anthropic import AsyncPerdureMemoryTool

    client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    await client.beta.messages.tool_runner(
        model="scripted", max_tokens=100, tools=[AsyncPerdureMemoryTool(memory)],
        messages=[{"role": "user", "content": prompt}], betas=["context-management-2025-06-27"],
    ).until_done()  # fmt: skip


async def openai_agents(memory: Memory, url: str, prompt: str) -> None:
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI

    from perdure.adapters.openai_agents import PerdureSession

    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    model = OpenAIResponsesModel("scripted", client)
    agent = Agent(name="helper", model=model, tools=[function_tool(tool) for tool in tools.bind(memory)])
    await Runner.run(agent, prompt, session=PerdureSession("alice", memory))


async def pydantic_ai(memory: Memory, url: str, prompt: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai_harness.memory import Memory as Notes

    from perdure.adapters.pydantic_ai import PerdureMemoryStore

    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
    agent = Agent(model, capabilities=[Notes(store=PerdureMemoryStore(memory))], tools=tools.bind(memory))
    await agent.run(prompt)


async def adk(memory: Memory, url: str, prompt: str) -> None:
    os.environ |= {"GOOGLE_GEMINI_BASE_URL": url, "GOOGLE_API_KEY": "none"}
    from google.adk.agents import Agent
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.adk.tools.preload_memory_tool import PreloadMemoryTool
    from google.genai import types

    from perdure.adapters.adk import PerdureMemoryService

    sessions, service = InMemorySessionService(), PerdureMemoryService(memory)
    own: list[Any] = [PreloadMemoryTool(), *tools.bind(memory)]
    agent = Agent(name="helper", model="gemini-scripted", tools=own)
    runner = Runner(app_name="shop", agent=agent, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name="shop", user_id="alice")
    said = types.Content(role="user", parts=[types.Part(text=prompt)])
    async for _ in runner.run_async(user_id="alice", session_id=session.id, new_message=said):
        pass
    whole = await sessions.get_session(app_name="shop", user_id="alice", session_id=session.id)
    await service.add_session_to_memory(whole)  # pyright: ignore[reportArgumentType] - it was made just now


async def strands(memory: Memory, url: str, prompt: str) -> None:
    from strands import Agent
    from strands.memory import InvocationTrigger, MemoryManager
    from strands.models.openai import OpenAIModel

    from perdure.adapters.strands import PerdureStrandsStore

    model = OpenAIModel(client_args={"base_url": f"{url}/v1", "api_key": "none"}, model_id="scripted")
    store = PerdureStrandsStore(memory, extraction={"trigger": InvocationTrigger()})
    manager = MemoryManager(stores=[store], add_tool_config=True)
    await Agent(model=model, memory_manager=manager).invoke_async(prompt)
    await manager.flush()


async def langchain(memory: Memory, url: str, prompt: str) -> None:
    from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
    from langchain_core.runnables.history import RunnableWithMessageHistory
    from langchain_openai import ChatOpenAI

    from perdure.adapters.langchain import PerdureChatMessageHistory

    model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none", max_retries=0)
    whole = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("user", "{prompt}")]) | model
    chain = RunnableWithMessageHistory(
        whole, lambda id: PerdureChatMessageHistory(id, memory),
        input_messages_key="prompt", history_messages_key="history",
    )  # fmt: skip
    await chain.ainvoke({"prompt": prompt}, config={"configurable": {"session_id": "alice"}})


async def agent_framework(memory: Memory, url: str, prompt: str) -> None:
    from agent_framework import Agent, BaseChatClient, ChatResponse, Message

    from perdure.adapters.agent_framework import PerdureContextProvider

    class Scripted(BaseChatClient):
        async def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> ChatResponse:
            said = ask_model(url, "\n".join(message.text for message in messages))
            return ChatResponse(messages=Message(role="assistant", contents=[said]))

    agent = Agent(Scripted(), context_providers=[PerdureContextProvider(memory, "alice")])
    await agent.run(prompt)


async def llama_index(memory: Memory, url: str, prompt: str) -> None:
    from llama_index.core.agent.workflow import ReActAgent
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.llms.callbacks import llm_completion_callback
    from llama_index.core.memory import InsertMethod
    from llama_index.core.memory import Memory as ShortTerm
    from llama_index.core.storage.chat_store.sql import MessageStatus

    from perdure.adapters.llama_index import PerdureMemoryBlock

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
            return CompletionResponse(text=ask_model(url, prompt))

        @llm_completion_callback()
        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            yield CompletionResponse(text=(said := ask_model(url, prompt)), delta=said)

    block = PerdureMemoryBlock(perdure=memory, conversation_id="alice")
    # In the system prompt, where it stands otherwise, a `ReActAgent` does not tell it to the model.
    short = ShortTerm.from_defaults(session_id=prompt, memory_blocks=[block], insert_method=InsertMethod.USER)
    await ReActAgent(llm=Scripted()).run(prompt, memory=short)
    await block.aput(await short.aget_all(status=MessageStatus.ACTIVE))


def ask_model(url: str, text: str) -> str:
    """For frameworks whose clients of models are packages of their own."""
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    answer = client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


if __name__ == "__main__":
    name, store, url, prompt = sys.argv[1:]
    with Memory(store, session=prompt, writer="model") as opened:
        asyncio.run(globals()[name](opened, url, prompt))
