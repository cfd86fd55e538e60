-- The prompts that some batches carry: $1 batch ids.
select distinct batch_prompts.prompt_hash, batches.mode
from batch_prompts
join batches using (batch_id)
where list_contains($1::varchar[], batch_prompts.batch_id)
