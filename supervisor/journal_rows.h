/* The prepared statements of journal_rows.c: used by journal_database.c only. */
#pragma once

#include "supervisor/journal_database.h"

int rows_prepare(struct database *database);
/* 0 or the errno of an SQLite result code. */
int database_errno(sqlite3 *handle, int code);
