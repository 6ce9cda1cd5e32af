// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command sqlite3 runs SQL on a SQLite file. It replaces the program of that name in demos and on
// pages, as far as they need it, so that they need no installed software:
//
//	sqlite3 FILE [SQL]
//
// Without an argument, it reads SQL from standard input. It prints rows like the real program:
// columns separated by |, NULL as nothing. A change waits up to five seconds for other writers.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sqlite3:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var statements string
	switch len(args) {
	case 1:
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		statements = string(text)
	case 2:
		statements = args[1]
	default:
		return errors.New("usage: sqlite3 FILE [SQL]")
	}
	db, err := sql.Open("sqlite", args[0]+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // every statement has its own answer
	return show(ctx, db, statements, out)
}

// show runs statements and prints the rows of the last one that returns any.
func show(ctx context.Context, db *sql.DB, statements string, out io.Writer) error {
	rows, err := db.QueryContext(ctx, statements)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, targets := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		words := make([]string, len(values))
		for i, value := range values {
			words[i] = value.String
		}
		if _, err := fmt.Fprintln(out, strings.Join(words, "|")); err != nil {
			return err
		}
	}
	return rows.Err()
}
