// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "time"

// Request is a call; one of its fields is set.
type Request struct {
	// Load compiles a bundle, and keeps it under its digest.
	Load *Load `json:"load,omitempty"`
	// Evaluate evaluates a loaded bundle. The parts of the frame are new members of the input.
	Evaluate *Evaluate `json:"evaluate,omitempty"`
	// Test runs the tests of a bundle.
	Test *Test `json:"test,omitempty"`
}

// Load is a bundle to compile.
type Load struct {
	// Digest identifies the bundle, and Package is that of its rules, such as "main".
	Digest  string `json:"digest"`
	Package string `json:"package"`
	// Files are the bundle's files by their paths.
	Files map[string]string `json:"files"`
}

// Evaluate is an input for a bundle.
type Evaluate struct {
	Digest  string `json:"digest"`
	Package string `json:"package"`
	// Input identifies the input. Members of the input with the same identifier are kept until there
	// is another one.
	Input string `json:"input"`
	// Send are the names of the parts that are sent with this frame. Use are all members that the
	// input has for this bundle.
	Send []string `json:"send,omitempty"`
	Use  []string `json:"use,omitempty"`
	// Now is the time for the rules, and Timeout limits the evaluation.
	Now     time.Time     `json:"now"`
	Timeout time.Duration `json:"timeout"`
}

// Test are tests to run.
type Test struct {
	Files map[string]string `json:"files"`
	// Timeout limits each test; Run is a regular expression that selects tests.
	Timeout time.Duration `json:"timeout"`
	Run     string        `json:"run,omitempty"`
}

// Response answers a call.
type Response struct {
	// Error says what is wrong with the bundle or the evaluation.
	Error string `json:"error,omitempty"`
	// NotLoaded is true if the bundle is not loaded (any more).
	NotLoaded bool `json:"notLoaded,omitempty"`
	// Loaded answers Load, Findings Evaluate and Tests Test.
	Loaded   *Loaded   `json:"loaded,omitempty"`
	Findings *Findings `json:"findings,omitempty"`
	Tests    []Outcome `json:"tests,omitempty"`
}

// Loaded describes a compiled bundle.
type Loaded struct {
	// Rules are the names of the rules that are evaluated, sorted.
	Rules []string `json:"rules"`
	// Reads are the members of the input that the bundle can read; Everything is true if that is not
	// known.
	Reads      []string `json:"reads,omitempty"`
	Everything bool     `json:"everything,omitempty"`
	// Clock is true if the rules read the time.
	Clock bool `json:"clock,omitempty"`
}

// Findings are the results of the rules.
type Findings struct {
	// Denied are of deny and violation, Warned of warn.
	Denied []Finding `json:"denied,omitempty"`
	Warned []Finding `json:"warned,omitempty"`
	// Omitted count what is beyond the limits.
	DeniedOmitted int `json:"deniedOmitted,omitempty"`
	WarnedOmitted int `json:"warnedOmitted,omitempty"`
}

// Finding is one result of a rule.
type Finding struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Address string `json:"address,omitempty"`
}

// MaxFindings limits the findings of each kind in one evaluation.
const MaxFindings = 100

// Outcome is the result of a test.
type Outcome struct {
	Package  string        `json:"package"`
	Name     string        `json:"name"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Duration time.Duration `json:"duration"`
	Failed   bool          `json:"failed,omitempty"`
	Skipped  bool          `json:"skipped,omitempty"`
	Error    string        `json:"error,omitempty"`
	Output   string        `json:"output,omitempty"`
}

// MaxMemory limits the memory of yuba-policy, in bytes: a plan of 50 MB needs half of it.
const MaxMemory = 2 << 30
