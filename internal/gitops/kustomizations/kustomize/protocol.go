// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

// A build is a conversation over two pipes: "build this directory", then questions about files and their answers, then
// the objects one by one, and the end.

// message is one frame; one of its fields is set.
type message struct {
	// Dir asks for a build.
	Dir string `json:"dir,omitempty"`
	// Ask is a question about the tree, Answer what it is answered with.
	Ask    *question `json:"ask,omitempty"`
	Answer *answer   `json:"answer,omitempty"`
	// Object is one that was made.
	Object *made `json:"object,omitempty"`
	// End says that the build is over.
	End *end `json:"end,omitempty"`
}

// made is an object on its way; Object itself is written as the JSON that it holds.
type made Object

// question is a call of the file system.
type question struct {
	Call string `json:"call"`
	Path string `json:"path"`
}

// answer is what a call returns.
type answer struct {
	Yes   bool     `json:"yes,omitempty"`
	Data  []byte   `json:"data,omitempty"`
	Names []string `json:"names,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	File  string   `json:"file,omitempty"`
	Error string   `json:"error,omitempty"`
	// Missing says that the error is that there is no such file.
	Missing bool `json:"missing,omitempty"`
}

type end struct {
	Error string `json:"error,omitempty"`
}
