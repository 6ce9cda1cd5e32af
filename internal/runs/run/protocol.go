// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "time"

// ProtocolVersion is the version this build speaks. It is raised when a runner of the version before would misread a
// Spec or a server of the version before a Result; a server accepts this version and the one before it.
const ProtocolVersion = 2

// PathPrefix is where the endpoints are:
//
//	POST {prefix}/poll                      PollRequest -> PollResponse; the runner's credential
//
// and, with the run's token:
//
//	GET  {prefix}/runs/{id}                 -> Spec
//	GET  {prefix}/runs/{id}/artifact        -> the archive's bytes
//	GET  {prefix}/runs/{id}/plan            -> the saved plan's bytes
//	GET  {prefix}/runs/{id}/state           -> the state's bytes; 204 when there has never been one
//	PUT  {prefix}/runs/{id}/state           state bytes, header HeaderSequence counts from 1; 204 when stored
//	PUT  {prefix}/runs/{id}/plan            the saved plan's bytes, before the result
//	PUT  {prefix}/runs/{id}/plan.json       the redacted readable plan
//	PUT  {prefix}/runs/{id}/plan.txt        the plan as the tool prints it, masked
//	PUT  {prefix}/runs/{id}/show.json       what the tool says about the plan, in its own schema, redacted
//	GET  {prefix}/runs/{id}/log             -> LogPosition: how many bytes the server has
//	PUT  {prefix}/runs/{id}/log             log bytes, header HeaderOffset says where they belong -> LogPosition
//	POST {prefix}/runs/{id}/continue        ContinueRequest -> ContinueResponse
//	POST {prefix}/runs/{id}/result          Result -> 204
//
// A state that the server refuses for good (another writer moved it) answers 409 with Problem; the server keeps its
// bytes all the same. 410 says that the run is over and nothing more of it is wanted; 401 that the token is wrong.
// Everything else that is not 2xx is to be tried again.
const PathPrefix = "/run/v1"

const (
	// HeaderProtocol names the version the runner speaks.
	HeaderProtocol = "Yuba-Run-Protocol"
	// HeaderSequence numbers the states of a run from 1.
	HeaderSequence = "Yuba-State-Sequence"
	// HeaderOffset is the place of a piece of log, in bytes from the start.
	HeaderOffset = "Yuba-Log-Offset"
	// HeaderPlanDigest names the plan that a saved plan, or what is shown of one, is: the digest of its file.
	HeaderPlanDigest = "Yuba-Plan-Digest"
	// HeaderChanging comes with a piece of log once a run that plans and applies with one process has begun to change
	// something.
	HeaderChanging = "Yuba-Run-Changing"
)

// Connection is how a runner finds its server. The server writes it as JSON (0600) to the runner's directory at every
// start; a runner reads it again whenever it cannot reach the server.
type Connection struct {
	URL string `json:"url"`
	// CA is the PEM bundle that the server's certificate must chain to.
	CA string `json:"ca"`
	// Credential is the runner's own bearer token, good for polling only.
	Credential string `json:"credential"`
	// Home names the place where this runner works, for PollRequest.Home.
	Home string `json:"home,omitempty"`
}

// HomeLocal is the home of the runner beside the server. Servers and runners of earlier releases know no other and do
// not name it: an empty home is this one.
const HomeLocal = "local"

// ConnectionFile is the name of the Connection in a runner's directory.
const ConnectionFile = "connection.json"

// PollRequest asks for work. The server holds it until there is some, or for PollWait.
type PollRequest struct {
	// Runner is the runner's id, made anew by each process.
	Runner string `json:"runner"`
	// Home is the connection's. Runners work in a home one after the other, never two at a time: a poll proves that
	// every earlier runner of the same home has ended. The runner that polls has its runs, and Active says which.
	// Of the runs of other homes a poll says nothing. See package lease.
	Home    string `json:"home,omitempty"`
	Version string `json:"version"`
	// Capacity is how many more runs the runner would take now.
	Capacity int `json:"capacity"`
	// Active are the runs it has in hand, those it found in its directory at its start among them.
	Active []string `json:"active"`
	// Build is what the server gave the runner at its start. A server that would give another lets the runner go.
	Build string `json:"build,omitempty"`
	// Draining is true for a runner that a server has told to drain. The server answers at once whether that still holds.
	Draining bool `json:"draining,omitempty"`
	// Removed repeats what the last answer named in Remove: it arrived.
	Removed []Stack `json:"removed,omitempty"`
	// Usage is what the runner has taken so far; nil for one that does not tell.
	Usage *Usage `json:"usage,omitempty"`
	// Places is how many runs work at a time, 0 from a runner that does not tell. Ahead are those of Active that were begun
	// beside them and have had no place yet: they are prepared, and start no process.
	Places int      `json:"places,omitempty"`
	Ahead  []string `json:"ahead,omitempty"`
}

// Usage is what a process has taken so far.
type Usage struct {
	// MemoryBytes is what is resident now; 0 when that is not known.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// CPU is the process's own time, ChildCPU that of the processes that it started and that have ended, providers included.
	CPU      Duration `json:"cpu"`
	ChildCPU Duration `json:"childCPU,omitempty"`
}

// PollWait is the longest a poll is held.
const PollWait = 20 * time.Second

// PollResponse hands out work.
type PollResponse struct {
	Runs []Assignment `json:"runs,omitempty"`
	// Cancel lists runs in hand that should stop, unless they have begun to change something.
	Cancel []string `json:"cancel,omitempty"`
	// Stop has the runs that a person wants to end, whatever they are doing, and says in words whose wish that is. They are
	// in Cancel, too, for runners that know nothing of Stop.
	Stop map[string]string `json:"stop,omitempty"`
	// Forget lists runs in hand that the server does not know (any more): let plans go, finish applies and spool.
	Forget []string `json:"forget,omitempty"`
	// Remove lists stacks that are gone: their working directories are wanted no longer.
	Remove []Stack `json:"remove,omitempty"`
	// Drain tells the runner to finish what it has and exit; an answer without it takes that back.
	Drain bool `json:"drain,omitempty"`
}

// Assignment is a run for the runner and the token to carry it out.
type Assignment struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	// Spec saves the runner the question; a server of before Spec was sent along leaves it out, and the runner asks.
	Spec *Spec `json:"spec,omitempty"`
}

// ContinueRequest asks whether a step may begin.
type ContinueRequest struct {
	Step Step `json:"step"`
	// Plan is what was found: when Step is apply in a plan-and-apply run, and when Step is plan, which asks for the
	// server's review (Spec.Review).
	Plan *PlanResult `json:"plan,omitempty"`
	// State is the digest of the managed state that the run was given, NoState when there was none: a server that started
	// anew since then does not know. Empty before that, and from older runners.
	State string `json:"state,omitempty"`
}

// NoState stands for the digest of a state where there is none.
const NoState = "none"

// ContinueResponse answers it. Before an apply the server takes the state's lock; a "no" ends the run as its
// Outcome and Class say.
type ContinueResponse struct {
	Go      bool    `json:"go"`
	Reason  string  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	Class   Failure `json:"class,omitempty"`
}

// LogPosition is how much of a run's log the server has, in bytes.
type LogPosition struct {
	Offset int64 `json:"offset"`
	// Full is true when the log has reached its limit and the rest is not wanted.
	Full bool `json:"full,omitempty"`
}

// Problem is the body of an error answer. With FailureState, an answer that calls for another attempt says that only a
// person can help: the next one may take its time.
type Problem struct {
	Message string  `json:"message"`
	Class   Failure `json:"class,omitempty"`
}
