"""A session is found or started; what fails in Spark is told without what its messages hold."""

import builtins
import sys

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

    class Sessions:
        getActiveSession = staticmethod(lambda: None)

    Sessions.builder = builder
    module = type(sys)("pyspark.sql")
    module.SparkSession = Sessions
    monkeypatch.setitem(sys.modules, "pyspark", type(sys)("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", module)
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    if elsewhere:
        monkeypatch.setenv("SPARK_REMOTE", "sc://cluster")
    with pytest.raises(DataError, match=r"install Java 17.*JAVA_HOME") as refused:
        session()
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None
    local = {"spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    assert builder.told == {} if elsewhere else local.items() <= builder.told.items()


def test_a_failure_shows_nothing_of_sparks_message():
    def cast():
        raise RuntimeError("the value 'secret-7' cannot be cast")

    def absent():
        raise RuntimeError("ModuleNotFoundError: No module named 'hushrec'")

    for action, told in ((cast, "read the columns as text"), (absent, r"install hushrec\[spark\] there")):
        with pytest.raises(DataError, match=told) as refused:
            contained(action)
        assert "secret" not in str(refused.value)
        assert refused.value.__context__ is None
    assert contained(lambda: 5) == 5


def test_our_own_errors_and_interrupts_pass():
    def ours():
        raise DataError("ours")

    def interrupted():
        raise builtins.KeyboardInterrupt

    with pytest.raises(DataError, match="ours"):
        contained(ours)
    with pytest.raises(KeyboardInterrupt):
        contained(interrupted)
