-- The lines of batch $1 that have no response yet, in no particular order.
-- $2 and $3 bound the rows of prompt_bodies, so that other bodies are never unpacked.
select
    batch_prompts.custom_id,
    replace(batch_prompts.prompt_hash::varchar, '-', '') as prompt_hash,
    encode(prompt_bodies.body) as body
from prompt_bodies
join batch_prompts using (prompt_hash)
where batch_prompts.batch_id = $1
    and prompt_bodies.rowid between $2 and $3
    and batch_prompts.custom_id not in (select custom_id from responses where batch_id = $1)
