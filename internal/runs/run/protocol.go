// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "time"

// ProtocolVersion is this build's version. Raise it when the previous version's runners would
// misread a Spec, or its servers a Result. A server accepts both versions.
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
//	GET  {prefix}/runs/{id}/identity        ?audience=A -> IdentityToken
//	GET  {prefix}/runs/{id}/registry/v1/... -> the registry's answer, if Spec.Registry is set; also HEAD
//	PUT  {prefix}/runs/{id}/state           state bytes, header HeaderSequence counts from 1; 204 when stored
//	PUT  {prefix}/runs/{id}/plan            the saved plan's bytes, before the result
//	PUT  {prefix}/runs/{id}/plan.json       the redacted readable plan
//	PUT  {prefix}/runs/{id}/plan.txt        the plan as the tool prints it, masked
//	PUT  {prefix}/runs/{id}/show.json       the plan in the tool's own schema, redacted
//	GET  {prefix}/runs/{id}/log             -> LogPosition
//	PUT  {prefix}/runs/{id}/log             log bytes, header HeaderOffset is their position -> LogPosition
//	POST {prefix}/runs/{id}/continue        ContinueRequest -> ContinueResponse
//	POST {prefix}/runs/{id}/result          Result -> 204
//
// If the server permanently refuses a state (another writer changed it), it answers 409 with
// Problem, but still keeps the bytes. 410 means that the run has ended and the server wants nothing
// more of it; 401 that the token is wrong. Retry after any other status that is not 2xx.
const PathPrefix = "/run/v1"

const (
	// HeaderProtocol names the runner's version of the protocol.
	HeaderProtocol = "Yuba-Run-Protocol"
	// HeaderSequence numbers the states of a run from 1.
	HeaderSequence = "Yuba-State-Sequence"
	// HeaderOffset is the position of a part of the log, in bytes from the start.
	HeaderOffset = "Yuba-Log-Offset"
	// HeaderPlanDigest is the digest of the plan file to which the body belongs.
	HeaderPlanDigest = "Yuba-Plan-Digest"
	// HeaderChanging marks the log of a run with Spec.Direct, once it changes something.
	HeaderChanging = "Yuba-Run-Changing"
)

// Connection tells a runner how to reach its server. The server writes it as JSON (0600) to the
// runner's directory at each start; a runner that cannot reach its server reads it again.
type Connection struct {
	URL string `json:"url"`
	// CA is the PEM bundle that the server's certificate must chain to.
	CA string `json:"ca"`
	// Credential is the runner's own bearer token, good for polling only.
	Credential string `json:"credential"`
	// Home names the place where this runner works, for PollRequest.Home.
	Home string `json:"home,omitempty"`
}

// HomeLocal is the home of the runner beside the server. Older servers and runners leave it empty.
const HomeLocal = "local"

// ConnectionFile is the name of the Connection in a runner's directory.
const ConnectionFile = "connection.json"

// PollRequest requests work. The server holds it until there is some, at most for PollWait.
type PollRequest struct {
	// Runner is the runner's id, new for each process.
	Runner string `json:"runner"`
	// Home is the connection's. A home has one runner at a time: a poll proves that every earlier
	// one has ended. Active are all of the home's runs that still exist. See package lease.
	Home    string `json:"home,omitempty"`
	Version string `json:"version"`
	// Capacity is how many more runs the runner accepts now.
	Capacity int `json:"capacity"`
	// Active are its runs, including those that it found in its directory at its start.
	Active []string `json:"active"`
	// Build is the mark that the server gave the runner. A server with another mark dismisses it.
	Build string `json:"build,omitempty"`
	// Draining is true after the server ordered the runner to drain. The server answers at once
	// whether the order still holds.
	Draining bool `json:"draining,omitempty"`
	// Removed acknowledges Remove from the last answer.
	Removed []Stack `json:"removed,omitempty"`
	// Usage is the runner's resource usage; nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Places is the number of concurrent runs, 0 if unknown. Ahead are those of Active that are
	// prepared and wait for a place, without a process.
	Places int      `json:"places,omitempty"`
	Ahead  []string `json:"ahead,omitempty"`
}

// Usage is the resource usage of a process so far.
type Usage struct {
	// MemoryBytes is the resident memory now; 0 if unknown.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// CPU is the process's own time, ChildCPU that of its ended processes and their providers.
	CPU      Duration `json:"cpu"`
	ChildCPU Duration `json:"childCPU,omitempty"`
}

// PollWait is the longest a poll is held.
const PollWait = 20 * time.Second

// PollResponse hands out work.
type PollResponse struct {
	Runs []Assignment `json:"runs,omitempty"`
	// Cancel lists runs that should stop unless they have begun to change something.
	Cancel []string `json:"cancel,omitempty"`
	// Stop maps runs that a person stops, in any step, to the reason. Cancel includes them for
	// older runners.
	Stop map[string]string `json:"stop,omitempty"`
	// Forget lists unknown runs: drop plans, finish applies and spool their results.
	Forget []string `json:"forget,omitempty"`
	// Remove lists deleted stacks, whose working directories are no longer needed.
	Remove []Stack `json:"remove,omitempty"`
	// Drain makes the runner finish its runs and exit; an answer without it revokes the order.
	Drain bool `json:"drain,omitempty"`
}

// Assignment is a run for the runner, and its token.
type Assignment struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	// Spec saves a request; older servers leave it out.
	Spec *Spec `json:"spec,omitempty"`
}

// ContinueRequest asks whether a step may begin.
type ContinueRequest struct {
	Step Step `json:"step"`
	// Plan is the result of planning: for the apply step of a plan-and-apply run, and for the plan
	// step, which requests a review (Spec.Review).
	Plan *PlanResult `json:"plan,omitempty"`
	// Installed is for the init step, which requests a review (Spec.ReviewInit).
	Installed *Installed `json:"installed,omitempty"`
	// State is the digest of the managed state that the run got, or NoState: a restarted server
	// does not know it. Empty before the run got its state, and from older runners.
	State string `json:"state,omitempty"`
}

// NoState replaces the digest if there is no state.
const NoState = "none"

// ContinueResponse is the answer. Before an apply the server takes the state's lock. A refusal ends
// the run with this Outcome and Class.
type ContinueResponse struct {
	Go      bool    `json:"go"`
	Reason  string  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	Class   Failure `json:"class,omitempty"`
}

// LogPosition is how much of a run's log the server has, in bytes.
type LogPosition struct {
	Offset int64 `json:"offset"`
	// Full is true if the log has reached its limit and the server wants no more.
	Full bool `json:"full,omitempty"`
}

// Problem is the body of an error response. With FailureState and a status that asks for a retry,
// only a person can help: the runner may retry slowly.
type Problem struct {
	Message string  `json:"message"`
	Class   Failure `json:"class,omitempty"`
}
