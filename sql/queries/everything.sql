-- Every prompt that a request asks for.
select distinct prompt_hash, mode from requests
