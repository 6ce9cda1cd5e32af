// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

// A build is a conversation over two pipes: a directory to build, questions about files and their
// answers, the objects one by one, and the end.

// message is one frame; one of its fields is set.
type message struct {
	// Dir requests a build.
	Dir string `json:"dir,omitempty"`
	// Ask is a question about the tree, Answer its answer.
	Ask    *question `json:"ask,omitempty"`
	Answer *answer   `json:"answer,omitempty"`
	// Object is a built object.
	Object *Object `json:"object,omitempty"`
	// End is the end of the build.
	End *end `json:"end,omitempty"`
}

// question is a call of the file system.
type question struct {
	Call string `json:"call"`
	Path string `json:"path"`
}

// answer is the result of a call.
type answer struct {
	Yes   bool     `json:"yes,omitempty"`
	Data  []byte   `json:"data,omitempty"`
	Names []string `json:"names,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	File  string   `json:"file,omitempty"`
	Error string   `json:"error,omitempty"`
	// Missing is true if the file does not exist.
	Missing bool `json:"missing,omitempty"`
}

type end struct {
	Error string `json:"error,omitempty"`
}
