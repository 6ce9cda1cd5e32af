// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestFrames(t *testing.T) {
	var pipe bytes.Buffer
	if err := Send(&pipe, Request{Evaluate: &Evaluate{Digest: "d", Send: []string{"a", "b"}}}, []byte("one"), nil); err != nil {
		t.Fatal(err)
	}
	if err := Send(&pipe, Response{Error: "e"}); err != nil {
		t.Fatal(err)
	}
	var request Request
	parts, err := ReceiveParts(&pipe, &request)
	if err != nil || len(parts) != 2 || string(parts[0]) != "one" || len(parts[1]) != 0 || request.Evaluate.Digest != "d" {
		t.Errorf("got %+v, %q, %v", request.Evaluate, parts, err)
	}
	var response Response
	if err := Receive(&pipe, &response); err != nil || response.Error != "e" {
		t.Errorf("got %+v, %v", response, err)
	}
	if err := Receive(&pipe, &response); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if err := Send(&pipe, Request{}, []byte("a part")); err != nil {
		t.Fatal(err)
	}
	if err := Receive(&pipe, &response); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a part that was not expected: %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	var pipe bytes.Buffer
	if err := Send(&pipe, Response{Findings: &Findings{Denied: []Finding{{Rule: "deny", Message: "no"}}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(pipe.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 2, 0xff, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, frame []byte) {
		var response Response
		if err := Receive(bytes.NewReader(frame), &response); err == nil && len(frame) < 8 {
			t.Error("a frame without a head was accepted")
		}
	})
}
