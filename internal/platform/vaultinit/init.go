// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
)

// Options are those of one call.
type Options struct {
	// Address is Vault's; Authorities are PEM certificates, the system's if empty.
	Address     string
	Authorities []byte
	// Members are the addresses of further servers of the same Vault, which have integrated storage (raft). Each joins the
	// others, as its configuration says, and is unsealed with the same keys.
	Members []string
	// KeyFile is the path of the key file.
	KeyFile string
	// Recipients get one share each. Threshold of them unseal; zero for a majority.
	Recipients     []age.Recipient
	RecipientTexts []string
	Threshold      int
	// Identities continue an interrupted setup.
	Identities []age.Identity
	// Reader is set up for External Secrets; nil for none.
	Reader *Reader
	Now    func() time.Time
	News   func(format string, args ...any)

	// after is called after each step; tests end a call there.
	after func(step string) error
}

// Outcome says what a call did.
type Outcome struct {
	Verb    Verb   `json:"verb"`
	Message string `json:"message"`
	KeyFile string `json:"keyFile"`
	Version string `json:"version"`
	Shares  int    `json:"shares"`
	// Threshold is how many shares unseal.
	Threshold int `json:"threshold"`
	// RootTokenRevoked: Vault has refused the root token after its revocation.
	RootTokenRevoked bool `json:"rootTokenRevoked"`
	Sealed           bool `json:"sealed"`
	// Members says how many further servers are unsealed and belong to the cluster.
	Members int `json:"members,omitempty"`
}

// RefusedError means that a call did nothing.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// UnsavedError means that Vault has answered with its keys, and the key file cannot be written. Sealed is the file's
// content, in which everything is encrypted: it must be saved now.
type UnsavedError struct {
	Err    error
	Sealed string
}

func (e *UnsavedError) Error() string {
	return fmt.Sprintf("save the keys of Vault: %v.\nThey exist nowhere else. Save this text, in which they are encrypted, as the key file, and run the same command again with the identities:\n%s", e.Err, e.Sealed)
}

func (e *UnsavedError) Unwrap() error { return e.Err }

// Run initialises Vault, or continues, or says that there is nothing to do.
func Run(ctx context.Context, o Options) (Outcome, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return Outcome{}, err
	}
	vault, err := newAPI(o.Address, o.Authorities)
	if err != nil {
		return Outcome{}, err
	}
	members, err := o.members(vault)
	if err != nil {
		return Outcome{}, err
	}
	if real, err := filepath.EvalSymlinks(o.KeyFile); err == nil {
		o.KeyFile = real // a link stays a link
	}
	// Vault and the key file are read under the lock, so that nothing is decided from what another call changes.
	unlock, err := lock(o.KeyFile)
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	var status sealStatus
	if err := vault.call(ctx, http.MethodGet, "sys/seal-status", nil, &status); err != nil {
		if len(members) > 0 {
			err = fmt.Errorf("%w. If the server %s is lost, name another one by --address, and leave it out", err, vault.address)
		}
		return Outcome{}, err
	}
	if status.Type != "" && status.Type != "shamir" {
		return Outcome{}, &RefusedError{fmt.Sprintf("Vault has the seal %q, which unseals without shares. Yuba initialises Vaults with Shamir's seal", status.Type)}
	}
	file, err := readFile(o.KeyFile)
	if err != nil {
		return Outcome{}, err
	}
	answer, opened := file.open(o.Identities)
	d := Decide(Facts{Initialized: status.Initialized, Sealed: status.Sealed, Phase: file.Phase,
		Elsewhere: file.Phase != PhaseNone && !slices.Contains(append(file.Members, file.Address), vault.address), Identities: opened})
	out := Outcome{Verb: d.Verb, Message: d.Message, KeyFile: o.KeyFile, Version: status.Version, Shares: len(file.Shares), Threshold: file.Threshold, Sealed: status.Sealed}
	switch d.Verb {
	case VerbRefuse:
		return out, &RefusedError{d.Message}
	case VerbNothing:
		out.RootTokenRevoked = true
		out.Members, out.Sealed, err = o.rejoin(ctx, vault, members, answer.Keys, file.Threshold)
		return out, err
	case VerbInit:
		if answer, err = o.initialise(ctx, vault, members, &file); err != nil {
			return out, err
		}
	}
	if err := o.setUp(ctx, vault, members, &file, answer); err != nil {
		return out, fmt.Errorf("%w.\nThe keys are in %s. To continue, run the same command again with the identities of enough recipients", err, o.KeyFile)
	}
	out.Shares, out.Threshold, out.RootTokenRevoked, out.Sealed, out.Members = len(file.Shares), file.Threshold, true, false, len(members)
	return out, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.News == nil {
		o.News = func(string, ...any) {}
	}
	if o.after == nil {
		o.after = func(string) error { return nil }
	}
	if o.Threshold == 0 {
		o.Threshold = len(o.Recipients)/2 + 1
	}
	return o
}

// maxShares is Shamir's.
const maxShares = 255

func (o Options) check() error {
	switch n := len(o.Recipients); {
	case o.KeyFile == "":
		return errors.New("no key file is named")
	case n == 0 || n != len(o.RecipientTexts):
		return errors.New("no recipient of a share is named")
	case n > maxShares || o.Threshold < 1 || o.Threshold > n || n > 1 && o.Threshold == 1:
		return fmt.Errorf("%d of %d shares cannot unseal: the threshold is at least 2 of several shares, and at most their number (1 of 1 is possible)", o.Threshold, n)
	}
	return nil
}

// initialise reserves, asks and seals. Vault answers once.
func (o Options) initialise(ctx context.Context, vault *api, members []*api, file *File) (initAnswer, error) {
	var answer initAnswer
	was := file.Phase
	*file = File{Address: vault.address, Members: addresses(members), Created: o.Now().UTC().Truncate(time.Second)}
	if err := reserve(o.KeyFile, was, *file); err != nil {
		return answer, err
	}
	if err := o.after("reserved"); err != nil {
		return answer, err
	}
	// A cancellation between the request and its answer would lose the keys.
	asking := context.WithoutCancel(ctx)
	err := vault.call(asking, http.MethodPost, "sys/init", map[string]int{"secret_shares": len(o.Recipients), "secret_threshold": o.Threshold}, &answer)
	if err != nil {
		return answer, fmt.Errorf("initialise Vault: %w. If Vault did it nevertheless, its answer is lost: run the same command again, which finds out", err)
	}
	if err := o.after("answered"); err != nil {
		return answer, err
	}
	if err := o.seal(file, answer); err != nil {
		return answer, err
	}
	o.News("Initialised Vault. Its %d shares, %d of which unseal it, are in %s, each encrypted for one recipient.", len(file.Shares), file.Threshold, o.KeyFile)
	return answer, o.after("sealed")
}

// seal encrypts Vault's answer into the key file.
func (o Options) seal(file *File, answer initAnswer) error {
	if len(answer.Keys) != len(o.Recipients) || answer.RootToken == "" {
		return fmt.Errorf("initialise Vault: it made %d keys instead of %d. Empty its storage, and run the same command again", len(answer.Keys), len(o.Recipients))
	}
	file.Phase, file.Threshold, file.Shares = PhaseSealed, o.Threshold, nil
	for i, key := range answer.Keys {
		sealed, err := sealTo(key, o.Recipients[i])
		if err != nil {
			return fmt.Errorf("encrypt a share for %s: %w", o.RecipientTexts[i], err)
		}
		file.Shares = append(file.Shares, Share{o.RecipientTexts[i], sealed})
	}
	var err error
	if file.RootToken, err = sealTo(answer.RootToken, o.Recipients...); err != nil {
		return fmt.Errorf("encrypt the root token: %w", err)
	}
	if err := file.fill(o.KeyFile); err != nil {
		return &UnsavedError{err, file.text()}
	}
	return nil
}

// setUp unseals, configures and revokes. Each part may be repeated.
func (o Options) setUp(ctx context.Context, vault *api, members []*api, file *File, answer initAnswer) error {
	if err := unsealVault(ctx, vault, answer.Keys[:file.Threshold]); err != nil {
		return err
	}
	o.News("Unsealed Vault.")
	if err := o.after("unsealed"); err != nil {
		return err
	}
	if _, err := o.unsealMembers(ctx, append([]*api{vault}, members...), answer.Keys[:file.Threshold]); err != nil {
		return err
	}
	if err := o.after("joined"); err != nil {
		return err
	}
	vault.token = answer.RootToken
	err := vault.call(ctx, http.MethodGet, "auth/token/lookup-self", nil, nil)
	switch {
	case statusOf(err) == http.StatusForbidden:
		// It was revoked before the file said so, or the setup has nothing to work with.
		return o.done(file)
	case err != nil:
		return err
	}
	if o.Reader != nil {
		if err := o.Reader.configure(ctx, vault); err != nil {
			return err
		}
		o.News("External Secrets reads %s/ with the role %s.", mountPath, readerName)
	}
	if err := o.awaitVoters(ctx, vault, 1+len(members)); err != nil {
		return err
	}
	if err := o.after("configured"); err != nil {
		return err
	}
	if err := revoke(ctx, vault); err != nil {
		return err
	}
	o.News("Revoked the root token; Vault refuses it now.")
	if err := o.after("revoked"); err != nil {
		return err
	}
	return o.done(file)
}

func (o Options) done(file *File) error {
	file.Phase, file.RootToken = PhaseDone, ""
	return file.replace(o.KeyFile)
}

const (
	readyPatience = time.Minute
	readyPause    = 100 * time.Millisecond
)

// unsealVault gives Vault its keys, and waits until it serves.
func unsealVault(ctx context.Context, vault *api, keys []string) error {
	var status sealStatus
	for _, key := range keys {
		if err := vault.call(ctx, http.MethodPost, "sys/unseal", map[string]string{"key": key}, &status); err != nil {
			return fmt.Errorf("unseal Vault: %w", err)
		}
		if !status.Sealed {
			break
		}
	}
	if status.Sealed {
		return errors.New("unseal Vault: it is still sealed after all keys")
	}
	if err := vault.awaitReady(ctx); err != nil {
		return fmt.Errorf("wait for the unsealed Vault: %w", err)
	}
	return nil
}

// revoke revokes the token, and proves it.
func revoke(ctx context.Context, vault *api) error {
	if err := vault.call(ctx, http.MethodPost, "auth/token/revoke-self", nil, nil); err != nil {
		return fmt.Errorf("revoke the root token: %w", err)
	}
	err := vault.call(ctx, http.MethodGet, "auth/token/lookup-self", nil, nil)
	if statusOf(err) != http.StatusForbidden {
		return fmt.Errorf("revoke the root token: Vault does not refuse it afterwards (%w)", errors.Join(errors.New("it must"), err))
	}
	vault.token = ""
	return nil
}

// exists reports whether Vault refused to create something that is there.
func exists(err error) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == http.StatusBadRequest && strings.Contains(strings.Join(s.errors, " "), "already in use")
}
