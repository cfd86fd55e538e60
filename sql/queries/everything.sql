-- Every prompt that a request asks for. One that is asked for both ways goes into a batch.
select prompt_hash, min(mode) as mode from requests group by prompt_hash
