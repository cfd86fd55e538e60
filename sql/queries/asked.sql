-- The prompts that a selection asks for: $1 trajectory ids, $2 strategy digests, $3 judges,
-- $4 gold, $5 repeats.
select distinct requests.prompt_hash, requests.mode
from requests
join (select unnest($1::varchar[]) as trajectory_id) as chosen using (trajectory_id)
where list_contains($2::varchar[], requests.strategy_digest)
    and list_contains($3::varchar[], requests.judge)
    and requests.gold = $4
    and requests.repeat < $5
