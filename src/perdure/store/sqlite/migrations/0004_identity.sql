-- A memory without a key is known by its text within its scope, so the scope stands in the index beside the text: what is
-- said in every conversation is still one step to find. Tombstones of before are of a text alone, and stay as they are.

DROP INDEX memory_content;
CREATE INDEX memory_content
ON memory (namespace, content_hash, conversation_id, spec_folder, file_path, anchor_id);
