"""SQLite, JSON, CSV, and archives in its folder."""

import csv
import json
import sqlite3
import zipfile


def add(a, b):
    with sqlite3.connect("numbers.db") as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS n (a, b)")
        connection.execute("INSERT INTO n VALUES (?, ?)", (a, b))
    with open("rows.csv", "w", newline="") as file:
        csv.writer(file).writerows(connection.execute("SELECT a, b FROM n ORDER BY rowid DESC LIMIT 1"))
    with zipfile.ZipFile("rows.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write("rows.csv")
    with zipfile.ZipFile("rows.zip") as archive:
        row = archive.read("rows.csv").decode().strip().split(",")
    return sum(json.loads(json.dumps([int(n) for n in row])))
