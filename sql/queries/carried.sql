-- The prompts that some batches carry: $1 batch ids.
select batch_prompts.prompt_hash, min(batches.mode) as mode
from batch_prompts
join batches using (batch_id)
where list_contains($1::varchar[], batch_prompts.batch_id)
group by batch_prompts.prompt_hash
