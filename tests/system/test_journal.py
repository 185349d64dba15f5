"""Jobs outlive the daemon: kill -9 and restarts mid-job, client keys, deadlines, retention.

Every proof is checked by an independent verifier (groth.py)."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import groth
import harness
import rpc
from harness import Circuit, Daemon, Failure, expect, expect_equal
