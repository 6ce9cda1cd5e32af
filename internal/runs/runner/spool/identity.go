// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"os"
	"strings"
)

// identityFile has all tokens that the run got for clouds, one a line, while the run lasts.
const identityFile = "identity-tokens"

// KeepIdentityToken keeps a token, so that the next runner of the run masks it.
func (s Dir) KeepIdentityToken(token string) error {
	file, err := os.OpenFile(s.Path(identityFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = file.WriteString(token + "\n")
		if closing := file.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return fmt.Errorf("keep a token: %w", err)
	}
	return nil
}

// IdentityTokens returns the kept tokens.
func (s Dir) IdentityTokens() []string {
	text, err := os.ReadFile(s.Path(identityFile))
	if err != nil {
		return nil // there are none
	}
	return strings.Fields(string(text))
}

// ForgetIdentityTokens removes the kept tokens.
func (s Dir) ForgetIdentityTokens() { _ = os.Remove(s.Path(identityFile)) }
