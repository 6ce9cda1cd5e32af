// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what Yuba costs, on this machine and in one go, and prints a table: how soon it is ready, what
// it takes while nothing happens, and what a stack takes next to the same commands of tofu by hand. It is run by
// "make bench".
//
// Where Yuba is compared with tofu by hand, both do the same work in turns, so that whatever else the machine does
// befalls both; the ratio of their medians is the number that counts. The ratio of CPU time holds on a busy machine, too.
//
// A fleet is many stacks of one repository that the benchmark makes: "make bench-fleet". Beside time, CPU and memory it
// counts what is started, as the kernel tells of it, what is written to the API, as that tells of it, and what is downloaded.
// It is measured in rows that -only names; -h says how long they take.
//
// Tenants are rows of a table and the objects that a template makes of them; the benchmark fills the table, and is the
// controller of a kind whose objects take their time.
//
// limits.yaml says what each number should be at most and what it was when it was last looked at. A number over its
// limit is marked and changes nothing else: this is no test.
package main
