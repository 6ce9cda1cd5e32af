// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decrypt

import (
	"context"
	"errors"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

// Opener decrypts one file.
type Opener func(Request) ([]byte, error)

// Request is a file to decrypt.
type Request struct {
	Data []byte `json:"data"`
	// From is the file's format, To that of the result.
	From Format `json:"from"`
	To   Format `json:"to"`
	// Verify requires a valid message authentication code. Only unchanged files have one.
	Verify bool     `json:"verify,omitempty"`
	Keys   KeyTexts `json:"keys"`
	// Recipients are public keys of age. With them, the file is encrypted instead.
	Recipients []string `json:"recipients,omitempty"`
}

// KeyTexts are the keys of a Secret.
type KeyTexts struct {
	// From names the Secret in errors; empty if there is none.
	From string `json:"from,omitempty"`
	// Age are entries with age identities.
	Age [][]byte `json:"age,omitempty"`
	// Foreign are the names of entries with other keys.
	Foreign []string `json:"foreign,omitempty"`
}

// Answer is a decrypted or encrypted file, or an error.
type Answer struct {
	Plain []byte `json:"plain,omitempty"`
	Error string `json:"error,omitempty"`
}

// Program decrypts in a process of yuba-sops, started for the first file. It is for one goroutine.
type Program struct {
	ctx     context.Context
	find    subprocess.Finder
	process *subprocess.Process
}

// NewProgram returns a program. find finds yuba-sops and yuba-sandbox.
func NewProgram(ctx context.Context, find subprocess.Finder) *Program {
	return &Program{ctx: ctx, find: find}
}

// Open implements Opener. With recipients, it encrypts.
func (p *Program) Open(r Request) ([]byte, error) {
	if p.process == nil && p.find == nil {
		return nil, errors.New("decryption is not available here")
	}
	if p.process == nil {
		process, err := subprocess.Start(p.ctx, p.find, "sops")
		if err != nil {
			return nil, err
		}
		p.process = process
	}
	if err := p.process.Send(r); err != nil {
		return nil, err
	}
	var a Answer
	if err := p.process.Receive(&a); err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Plain, nil
}

// Close ends the process.
func (p *Program) Close() {
	if p.process != nil {
		p.process.Close()
	}
}
