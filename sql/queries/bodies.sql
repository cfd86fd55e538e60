-- The bodies of the prompts $1, in the order in which they are stored.
select
    replace(prompt_hash::varchar, '-', '') as prompt_hash,
    encode(body) as body
from prompt_bodies
semi join (select unnest($1::varchar[])::uuid as prompt_hash) using (prompt_hash)
order by prompt_bodies.rowid
