// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import "github.com/yuba-dev/yuba/internal/kit/mask"

// Hide masks all secrets in a text for people.
func (in *Inputs) Hide(text string) string { return in.secrets().Masker(Mask).Text(text) }

// secrets returns the texts to mask.
func (in *Inputs) secrets() *mask.Secrets {
	secrets := mask.New()
	for _, v := range in.Variables {
		if v.Secret && !v.Open {
			secrets.AddJSON(v.JSON)
		}
	}
	for _, e := range in.Env {
		if e.Secret && !e.Open {
			secrets.Add(e.Value.Reveal())
		}
	}
	for _, s := range in.Settings {
		if s.Secret {
			secrets.Add(s.Value.Reveal())
		}
	}
	for _, f := range in.Files {
		secrets.AddFile([]byte(f.Content.Reveal()))
	}
	for _, v := range in.Inserted {
		secrets.Add(v.Reveal())
	}
	secrets.AddFile([]byte(in.CLIConfig.Reveal()))
	return secrets
}
