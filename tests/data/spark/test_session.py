"""A session is found or started; what fails in Spark is told without what its messages hold."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from hushrec.data.spark.session import contained, session
from hushrec.errors import DataError


@pytest.mark.spark
def test_the_active_session_is_taken(spark):
    assert session() is spark


def test_without_pyspark_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(DataError, match=r"pip install 'hushrec\[spark\]', and Java 17"):
        session()


class Recorded:
    """A builder of sessions that fails at the end, and what it was told."""

    def __init__(self):
        self.told = {}

    def appName(self, name):
        return self

    def config(self, name, value):
        self.told[name] = value
        return self

    def getOrCreate(self):
        raise RuntimeError("secret-7 of JAVA")


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_session_of_its_own_stays_on_this_machine(monkeypatch, elsewhere):
    """Unless whoever called says where Spark runs: then nothing is set over that."""
    builder = Recorded()
    sessions = SimpleNamespace(getActiveSession=lambda: None, builder=builder)
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", SimpleNamespace(SparkSession=sessions))
    for name in (
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_SUBMIT_ARGS",
        "SPARK_CONF_DIR",
        "SPARK_HOME",
        "SPARK_REMOTE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    if elsewhere:
        monkeypatch.setenv("SPARK_REMOTE", "sc://cluster")
    with pytest.raises(DataError, match=r"install Java 17.*JAVA_HOME") as refused:
        session()
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None
    local = {"spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    assert builder.told == {} if elsewhere else local.items() <= builder.told.items()


def raising(error):
    def action():
        raise error

    return action


def test_a_failure_shows_nothing_of_sparks_message_and_our_own_errors_pass():
    absent = "ModuleNotFoundError: No module named 'hushrec'"
    for said, told in (
        ("the value 'secret-7' cannot be cast", "read the columns as text"),
        (absent, r"install hushrec\[spark\] there"),
    ):
        with pytest.raises(DataError, match=told) as refused:
            contained(raising(RuntimeError(said)))
        assert "secret" not in str(refused.value)
        assert refused.value.__context__ is None
    with pytest.raises(DataError, match="ours"):
        contained(raising(DataError("ours")))
    with pytest.raises(KeyboardInterrupt):
        contained(raising(KeyboardInterrupt()))
    assert contained(lambda: 5) == 5
