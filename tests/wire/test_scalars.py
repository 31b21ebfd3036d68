"""Ids and times in every form a reader takes."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.wire import types as t
from efr.wire.codec import decode, encode
from efr.wire.errors import BadValue
from efr.wire.ids import canonical_job_id, canonical_uuid
from efr.wire.times import canonical_time, time_from_us, time_to_us

UUID = "019a9b1c-3d00-7a10-8b20-00000000abcd"
BARE = UUID.replace("-", "")

UUID_FORMS = [UUID, UUID.upper(), BARE, BARE.upper(), f"{{{UUID}}}", f"urn:uuid:{UUID}"]
NO_UUIDS = [
    "",
    "j1",
    UUID[:-1],
    f"{UUID}0",
    f" {UUID}",
    f"{UUID}\n",
    f"{{{UUID}",
    f"urn:uuid:{{{UUID}}}",
    UUID.replace("-", "_"),
    UUID.replace("a", "g"),
    UUID.replace("0", "٠"),
]

TIMES = [
    ("2026-10-03T12:00:00Z", "2026-10-03T12:00:00Z"),
    ("2026-10-03T14:00:00+02:00", "2026-10-03T12:00:00Z"),
    ("2026-10-03T00:30:00-23:59", "2026-10-04T00:29:00Z"),
    ("2026-10-03t12:00:00z", "2026-10-03T12:00:00Z"),
    ("2026-10-03T12:00:00-00:00", "2026-10-03T12:00:00Z"),
    ("2026-10-03T12:00:05.500Z", "2026-10-03T12:00:05.5Z"),
    ("2026-10-03T12:00:05.000000000Z", "2026-10-03T12:00:05Z"),
    ("2026-10-03T12:00:05.123456789+05:45", "2026-10-03T06:15:05.123456789Z"),
    ("0999-12-31T23:59:59Z", "0999-12-31T23:59:59Z"),
    ("2028-02-29T00:00:00.1Z", "2028-02-29T00:00:00.1Z"),
]
NO_TIMES = [
    "",
    "2026-10-03",
    "2026-10-03T12:00:00",
    "2026-10-03 12:00:00Z",
    "2026-10-03T12:00Z",
    "2026-10-03T12:00:00.Z",
    "2026-10-03T12:00:00.1234567890Z",
    "2026-10-03T12:00:00,5Z",
    "2026-10-03T12:00:00+0200",
    "2026-10-03T12:00:00+24:00",
    "2026-10-03T12:00:00+02:60",
    "2026-02-29T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-10-03T24:00:00Z",
    "2026-10-03T12:00:60Z",
    "0001-01-01T00:00:00+01:00",
    "2026-10-03T12:00:00Z\n",
    "٢٠٢٦-10-03T12:00:00Z",
]


@pytest.mark.parametrize("text", UUID_FORMS)
def test_every_form_of_a_uuid_is_written_the_same(text: str) -> None:
    assert canonical_uuid(text) == UUID
    assert decode(encode(text), t.TurnId) == UUID


@pytest.mark.parametrize("text", NO_UUIDS)
def test_other_text_is_no_uuid(text: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        canonical_uuid(text)


@pytest.mark.parametrize("text", ["j1", "j10", "j987654321987654321"])
def test_a_job_id_is_j_and_a_number(text: str) -> None:
    assert canonical_job_id(text) == text


@pytest.mark.parametrize("text", ["", "j", "j0", "j01", "J1", "j1 ", "j1\n", "j-1", "1", "j١"])
def test_other_text_is_no_job_id(text: str) -> None:
    with pytest.raises(ValueError, match="job id"):
        canonical_job_id(text)


@pytest.mark.parametrize(("text", "written"), TIMES)
def test_a_time_is_written_in_utc_with_all_its_digits(text: str, written: str) -> None:
    assert canonical_time(text) == written
    assert canonical_time(written) == written
    assert decode(encode(text), t.Time) == written


@pytest.mark.parametrize("text", NO_TIMES)
def test_other_text_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        canonical_time(text)


@pytest.mark.parametrize("number", ["17", "null", "{}", "[]", "true"])
def test_an_id_or_a_time_is_text(number: str) -> None:
    for kind in (t.TurnId, t.Time, t.JobId):
        with pytest.raises(BadValue):
            decode(number.encode(), kind)


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_microseconds_and_times_agree(us: int) -> None:
    time = time_from_us(us)

    assert canonical_time(time) == time
    assert time_to_us(time) == us
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    assert datetime.fromisoformat(time) == moment


def test_digits_below_a_microsecond_are_cut_for_microseconds_alone() -> None:
    assert time_to_us("1970-01-01T00:00:01.000000999Z") == 1_000_000
    assert time_to_us("1969-12-31T23:59:59.9999999Z") == -1


@given(st.text(max_size=40))
def test_arbitrary_text_raises_nothing_but_value_errors(text: str) -> None:
    for canonical in (canonical_uuid, canonical_job_id, canonical_time):
        with suppress(ValueError):
            assert canonical(canonical(text)) == canonical(text)
