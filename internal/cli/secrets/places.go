// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/keep"
)

// opener opens the stores of an environment.
type opener struct {
	// dir is the environment's directory.
	dir        string
	identities []string
	// trusted are addresses that the caller named, beside those in the variables of the stores' own tools.
	trusted []string
	// session is only made for environments that need the API.
	session func() (*session.Session, error)
}

func (o *opener) place(s declare.Store) (keep.Place, error) {
	switch {
	case s.Kubernetes != nil:
		c, err := o.session()
		if err != nil {
			return nil, err
		}
		return &keep.Object{Client: c.Objects, Namespace: cmp.Or(s.Kubernetes.Namespace, c.Namespace), Secret: s.Kubernetes.Name,
			Labels: map[string]string{"app.kubernetes.io/managed-by": "yuba"}, Now: time.Now}, nil
	case s.SOPS != nil:
		return &keep.SOPS{Path: filepath.Join(o.dir, filepath.FromSlash(s.SOPS.File)), Label: s.SOPS.File, Recipients: s.SOPS.Recipients, Cipher: &cipher{o.identities}}, nil
	case s.Vault != nil:
		if err := o.mayReach(s.Vault.Address, "VAULT_ADDR"); err != nil {
			return nil, fmt.Errorf("open Vault: %w", err)
		}
		token, err := vaultToken()
		if err != nil {
			return nil, err
		}
		return &keep.JSON{Store: &store.Vault{Address: s.Vault.Address, Mount: s.Vault.Mount, Path: s.Vault.Path, Namespace: s.Vault.Namespace, Token: token}}, nil
	case s.SSM != nil:
		if s.SSM.Endpoint != "" && !declare.Loopback(s.SSM.Endpoint) {
			if err := o.mayReach(s.SSM.Endpoint, "AWS_ENDPOINT_URL_SSM"); err != nil {
				return nil, fmt.Errorf("open AWS: %w", err)
			}
		}
		keys, err := awsKeys()
		if err != nil {
			return nil, err
		}
		return &keep.JSON{Store: &store.SSM{Parameter: s.SSM.Name, Region: s.SSM.Region, KeyID: s.SSM.KeyID, Endpoint: s.SSM.Endpoint, Keys: keys}}, nil
	}
	if place, err := o.cloud(s); place != nil || err != nil {
		return place, err
	}
	return nil, errors.New("this version cannot open the store. This is a bug in Yuba")
}

// mayReach refuses an address that only the file names: whoever can change the file would get the caller's
// credentials.
func (o *opener) mayReach(address, variable string) error {
	for _, known := range append([]string{os.Getenv(variable)}, o.trusted...) {
		if known != "" && sameAddress(known, address) {
			return nil
		}
	}
	return fmt.Errorf("%s names %s, and your credentials are only sent to addresses that you name yourself. If it is the right one:\n    export %s=%s\nor name it with --trust-address",
		declare.FileName, address, variable, address)
}

// sameAddress compares addresses as clients use them.
func sameAddress(a, b string) bool {
	one, errA := url.Parse(a)
	two, errB := url.Parse(b)
	return errA == nil && errB == nil && strings.EqualFold(one.Scheme, two.Scheme) && strings.EqualFold(one.Hostname(), two.Hostname()) &&
		port(one) == port(two) && strings.TrimSuffix(one.Path, "/") == strings.TrimSuffix(two.Path, "/")
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
}

// vaultToken is the token of Vault's own command line.
func vaultToken() (string, error) {
	if token := os.Getenv("VAULT_TOKEN"); token != "" {
		return token, nil
	}
	home, err := os.UserHomeDir()
	if err == nil {
		content, readErr := os.ReadFile(filepath.Join(home, ".vault-token"))
		if token := strings.TrimSpace(string(content)); readErr == nil && token != "" {
			return token, nil
		}
	}
	return "", errors.New("open Vault: there is no token. Log in, or set VAULT_TOKEN:\n    vault login")
}

func awsKeys() (store.Keys, error) {
	keys := store.Keys{ID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Session: os.Getenv("AWS_SESSION_TOKEN")}
	if keys.ID == "" || keys.Secret == "" {
		return keys, errors.New("open AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as with:\n    eval \"$(aws configure export-credentials --format env)\"")
	}
	return keys, nil
}

// cipher decrypts and encrypts with yuba-sops.
type cipher struct{ identities []string }

// Seal implements [keep.Cipher].
func (c *cipher) Seal(ctx context.Context, plain []byte, recipients []string) ([]byte, error) {
	p := decrypt.NewProgram(ctx, app.Beside)
	defer p.Close()
	return p.Open(decrypt.Request{Data: plain, From: decrypt.YAML, To: decrypt.YAML, Recipients: recipients})
}

// Open implements [keep.Cipher].
func (c *cipher) Open(ctx context.Context, content []byte) ([]byte, error) {
	keys, err := c.keys()
	if err != nil {
		return nil, err
	}
	p := decrypt.NewProgram(ctx, app.Beside)
	defer p.Close()
	return p.Open(decrypt.Request{Data: content, From: decrypt.YAML, To: decrypt.YAML, Verify: true, Keys: keys})
}

// keys reads age identities from where the command sops does: its variables, then its file.
func (c *cipher) keys() (decrypt.KeyTexts, error) {
	files := c.identities
	if len(files) == 0 {
		if text := os.Getenv("SOPS_AGE_KEY"); text != "" {
			return decrypt.KeyTexts{From: "SOPS_AGE_KEY", Age: [][]byte{[]byte(text)}}, nil
		}
		file := os.Getenv("SOPS_AGE_KEY_FILE")
		if file == "" {
			config, err := os.UserConfigDir()
			if err != nil {
				return decrypt.KeyTexts{}, fmt.Errorf("find the age keys: %w. Name them with --identity FILE", err)
			}
			file = filepath.Join(config, "sops", "age", "keys.txt")
		}
		files = []string{file}
	}
	keys := decrypt.KeyTexts{From: strings.Join(files, ", ")}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return keys, fmt.Errorf("read the age keys: %w. Name a file of age-keygen with --identity FILE, or set SOPS_AGE_KEY_FILE", err)
		}
		keys.Age = append(keys.Age, content)
	}
	return keys, nil
}
