"""PyMySQL through a socket: smoke.py SOCKET USER PASSWORD. Prints `ok` at the end."""

import hashlib
import sys

import pymysql

socket, user, password = sys.argv[1:4]


def connect(**more):
    return pymysql.connect(unix_socket=socket, user=user, password=password, **more)


connection = connect(client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
cursor = connection.cursor()
cursor.execute("SELECT 1; SELECT 2; SELECT 3")
values = [cursor.fetchone()[0]]
while cursor.nextset():
    values.append(cursor.fetchone()[0])
assert values == [1, 2, 3], values

cursor.execute("CREATE DATABASE IF NOT EXISTS smoke")
connection.select_db("smoke")
cursor.execute("DROP TABLE IF EXISTS py")
cursor.execute("CREATE TABLE py (id INT PRIMARY KEY, body LONGBLOB) ENGINE=InnoDB")
body = bytes(range(256)) * (20 << 12)
cursor.execute("INSERT INTO py VALUES (1, %s)", (body,))
connection.commit()
cursor.execute("SELECT body, SHA2(body, 256) FROM py")
back, digest = cursor.fetchone()
assert back == body and hashlib.sha256(body).hexdigest() == digest, "bytes changed on their way"

try:
    cursor.execute("SELECT * FROM nothing_here")
    raise SystemExit("no error")
except pymysql.err.ProgrammingError as error:
    assert error.args[0] == 1146, error


for number in range(200):
    one = connect()
    with one.cursor() as each:
        each.execute("SELECT %s", (number,))
        assert each.fetchone()[0] == number
    one.close()

stream = connection.cursor(pymysql.cursors.SSCursor)
stream.execute("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n")
assert sum(row[0] for row in stream) == 500500
connection.close()
print("ok")
