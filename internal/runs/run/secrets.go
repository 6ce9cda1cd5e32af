// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// KnownSecrets are the texts to mask wherever people see the run.
func (s *Spec) KnownSecrets() *mask.Secrets { return s.addSecrets(mask.New(s.publicTexts()...)) }

// StrictSecrets are all secrets of the run, also short and common ones, to decide what is published.
func (s *Spec) StrictSecrets() *mask.Secrets { return s.addSecrets(mask.Strict()) }

func (s *Spec) addSecrets(secrets *mask.Secrets) *mask.Secrets {
	for _, v := range s.Variables {
		if v.Secret {
			secrets.AddJSON(v.Value)
		}
	}
	for _, e := range s.Env {
		if e.Secret {
			secrets.Add(e.Value)
		}
	}
	for _, f := range s.Files {
		if f.Secret {
			secrets.AddFile(f.Content)
		}
	}
	secrets.AddSettings(string(s.CLIConfig))
	for _, text := range s.Secrets {
		secrets.Add(text)
	}
	return secrets
}

// publicTexts are names and open values, which are not masked even if a secret is the same word.
// Outputs of other stacks are not included, because no one chose to publish them.
func (s *Spec) publicTexts() []string {
	texts := append(strings.Split(s.Path, "/"), s.Stack.Namespace, s.Stack.Name, s.Workspace)
	for name, v := range s.Variables {
		texts = append(texts, name)
		var text string
		if !v.Secret && !v.Open && json.Unmarshal(v.Value, &text) == nil {
			texts = append(texts, text)
		}
	}
	for _, e := range s.Env {
		if !e.Secret && !e.Open {
			texts = append(texts, e.Value)
		}
	}
	return texts
}
