-- The prompts that some batches carry, the wider ones in the place of those cut short: $1 batch ids.
with carried as (
    select batch_prompts.prompt_hash, min(batches.mode) as mode
    from batch_prompts
    join batches using (batch_id)
    where list_contains($1::varchar[], batch_prompts.batch_id)
    group by batch_prompts.prompt_hash
)
select carried.prompt_hash, carried.mode from carried anti join widened using (prompt_hash)
union
select widened.wider_hash, carried.mode from carried join widened using (prompt_hash)
