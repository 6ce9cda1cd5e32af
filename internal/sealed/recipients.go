// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// maxKeys limits a file of recipients or identities.
const maxKeys = 1 * mib

// Recipients are public keys with their texts.
type Recipients struct {
	Texts []string
	Keys  []age.Recipient
}

// ParseRecipients reads public keys.
func ParseRecipients(texts []string) (Recipients, error) {
	var all Recipients
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "AGE-SECRET-KEY-") {
			// Do not repeat it.
			return all, errors.New("a recipient is the public key (age1…), and this is an identity: keep it offline, and name the line \"# public key:\" of its file")
		}
		key, err := age.ParseX25519Recipient(text)
		if err != nil {
			return all, fmt.Errorf("recipient %q is not a public key of age: want age1…, as age-keygen -y prints it", cut(text))
		}
		if slices.Contains(all.Texts, text) {
			continue
		}
		all.Texts, all.Keys = append(all.Texts, text), append(all.Keys, key)
	}
	return all, nil
}

// ReadRecipients reads a file with a public key a line; empty lines and those that begin with # do not
// count.
func ReadRecipients(r io.Reader) ([]string, error) {
	var texts []string
	lines := bufio.NewScanner(io.LimitReader(r, maxKeys))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			texts = append(texts, line)
		}
	}
	return texts, lines.Err()
}

// ParseIdentities reads a file of age-keygen. Errors do not repeat its content.
func ParseIdentities(name string, data []byte) ([]age.Identity, error) {
	if len(data) > maxKeys {
		return nil, fmt.Errorf("read the identities in %s: the file is too large", name)
	}
	identities, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the identities in %s: it is not a file of age-keygen (AGE-SECRET-KEY-1…)", name)
	}
	return identities, nil
}
