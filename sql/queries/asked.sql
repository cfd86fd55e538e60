-- The prompts that a selection asks for: $1 trajectory ids, $2 strategy digests, $3 judges,
-- $4 gold, $5 repeats. One that is asked for both ways goes into a batch.
select requests.prompt_hash, min(requests.mode) as mode
from requests
join (select unnest($1::varchar[]) as trajectory_id) as chosen using (trajectory_id)
where list_contains($2::varchar[], requests.strategy_digest)
    and list_contains($3::varchar[], requests.judge)
    and requests.gold = $4
    and requests.repeat < $5
group by requests.prompt_hash
