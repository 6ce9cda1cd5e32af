// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// FileName is the name of the file in the directory of an environment.
const FileName = "secrets.yaml"

// File is a file that was read.
type File struct {
	// Store has the secrets and their book.
	Store Store
	// Copies get the values, too.
	Copies []Store
	// Secrets are the declared secrets, signers before what they sign.
	Secrets []Secret
	// Dependents are stacks that read the secrets, each NAME or NAMESPACE/NAME, in the order in which they
	// run.
	Dependents []string
	// Overlap is how long both values stay valid; nil if the file does not say.
	Overlap *time.Duration
}

// Store is one place. Exactly one field is set.
type Store struct {
	Kubernetes *Kubernetes
	SOPS       *SOPS
	Vault      *Vault
	SSM        *SSM
	AWS        *AWS
	Google     *Google
	Azure      *Azure
}

// Kubernetes is a Secret in the API of the server or cluster that commands use.
type Kubernetes struct {
	// Namespace is empty for that of the command.
	Namespace, Name string
}

// SOPS is a file that sops encrypts for age keys.
type SOPS struct {
	// File is relative to the environment.
	File       string
	Recipients []string
}

// Vault is a secret in the KV engine, version 2.
type Vault struct{ Address, Mount, Path, Namespace string }

// SSM is a parameter of Systems Manager.
type SSM struct{ Name, Region, KeyID, Endpoint string }

// AWS is a secret of AWS Secrets Manager.
type AWS struct{ Name, Region, KeyID, Endpoint string }

// Google is a secret of Google's Secret Manager.
type Google struct{ Project, Name, Endpoint string }

// Azure is a secret of an Azure Key Vault.
type Azure struct{ Vault, Name string }

// Secret is a declared secret.
type Secret struct {
	Name string
	Line int
	// Every is the age at which it must be rotated; 0 for never.
	Every time.Duration
	// Exactly one is set.
	Password    *Password
	Token       *Token
	KeyPair     *KeyPair
	Certificate *Certificate
}

// Password is made of characters.
type Password struct {
	Length int
	// Symbols are used beside letters and digits.
	Symbols string
}

// Token is made of random bytes.
type Token struct {
	Bytes int
	// Encoding is hex or base64url.
	Encoding string
	Prefix   string
}

// The algorithms of keys.
const (
	Ed25519 = "ed25519"
	P256    = "ecdsa-p256"
	RSA3072 = "rsa-3072"
	RSA4096 = "rsa-4096"
)

// Algorithms are the algorithms of keys.
var Algorithms = []string{Ed25519, P256, RSA3072, RSA4096}

// KeyPair is a private key and its public key.
type KeyPair struct {
	Algorithm string
	// SSH also writes the public key as a line of authorized_keys.
	SSH bool
}

// Certificate is a certificate for TLS, with its key.
type Certificate struct {
	Algorithm   string
	CommonName  string
	DNSNames    []string
	IPAddresses []string
	ValidFor    time.Duration
	// CA: it may sign others.
	CA bool
	// SignedBy names the secret whose certificate signs it; empty if it signs itself.
	SignedBy string
}

// Parts are the names of the secret's values.
func (s *Secret) Parts() []string {
	switch {
	case s.KeyPair != nil && s.KeyPair.SSH:
		return []string{s.Name + "_private", s.Name + "_public", s.Name + "_ssh"}
	case s.KeyPair != nil:
		return []string{s.Name + "_private", s.Name + "_public"}
	case s.Certificate != nil:
		return []string{s.Name + "_certificate", s.Name + "_key", s.Name + "_ca"}
	}
	return []string{s.Name}
}

// Kind is the name of the generator.
func (s *Secret) Kind() string {
	switch {
	case s.Password != nil:
		return "password"
	case s.Token != nil:
		return "token"
	case s.KeyPair != nil:
		return "keyPair"
	}
	return "certificate"
}

// Generator is the generator as canonical text. It changes exactly if values would be made differently.
func (s *Secret) Generator() string {
	words := []string{s.Kind()}
	add := func(key string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "false" {
			words = append(words, key+"="+text)
		}
	}
	switch {
	case s.Password != nil:
		add("length", s.Password.Length)
		add("symbols", s.Password.Symbols)
	case s.Token != nil:
		add("bytes", s.Token.Bytes)
		add("encoding", s.Token.Encoding)
		add("prefix", s.Token.Prefix)
	case s.KeyPair != nil:
		add("algorithm", s.KeyPair.Algorithm)
		add("ssh", s.KeyPair.SSH)
	default:
		c := s.Certificate
		add("algorithm", c.Algorithm)
		add("commonName", strings.ReplaceAll(c.CommonName, " ", "_"))
		add("dnsNames", strings.Join(c.DNSNames, ","))
		add("ipAddresses", strings.Join(c.IPAddresses, ","))
		add("validFor", decide.Days(c.ValidFor))
		add("ca", c.CA)
		add("signedBy", c.SignedBy)
	}
	return strings.Join(words, " ")
}

// Declared are the secrets as decisions see them.
func (f *File) Declared() []decide.Declared {
	var list []decide.Declared
	for i := range f.Secrets {
		s := &f.Secrets[i]
		d := decide.Declared{Name: s.Name, Generator: s.Generator(), Parts: s.Parts(), Every: s.Every}
		if s.Certificate != nil {
			d.SignedBy = s.Certificate.SignedBy
		}
		list = append(list, d)
	}
	return list
}

// Secret returns a declared secret; nil if there is none of this name.
func (f *File) Secret(name string) *Secret {
	for i := range f.Secrets {
		if f.Secrets[i].Name == name {
			return &f.Secrets[i]
		}
	}
	return nil
}

// Objects are the Secrets of Kubernetes among store and copies.
func (f *File) Objects() []*Kubernetes {
	var list []*Kubernetes
	for _, s := range slices.Concat([]Store{f.Store}, f.Copies) {
		if s.Kubernetes != nil {
			list = append(list, s.Kubernetes)
		}
	}
	return list
}
