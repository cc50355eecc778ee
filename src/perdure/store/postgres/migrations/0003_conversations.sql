-- What stands around a turn of a conversation is found without reading the conversation.
CREATE INDEX IF NOT EXISTS memory_conversation
ON perdure.memory (namespace, conversation_id, coalesce(session_id, ''), number) WHERE conversation_id IS NOT NULL;
