// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

// FetchError says why an upstream's content could not be had, in the words that a source's status shows.
type FetchError struct {
	// Reason is the condition's, one of Flux's: AuthenticationFailed, GitOperationFailed, OCIArtifactPullFailed,
	// BucketOperationFailed, URLInvalid, VerificationError and so on.
	Reason string
	// Message is for people: what was attempted, on what, why it failed, what to do. It has no credentials in it, those
	// of URLs among them.
	Message string
	// Stalled is true when trying again is of no use before somebody changes the source or what it refers to.
	Stalled bool
	// Err is what went wrong underneath; it is for errors.As and is never shown.
	Err error
}

func (e *FetchError) Error() string { return e.Message }

func (e *FetchError) Unwrap() error { return e.Err }
