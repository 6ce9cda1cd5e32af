// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/version"
	"github.com/yuba-dev/yuba/internal/sealed"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// The names of members below the directory of a stack.
const (
	manifestName = "stack.yaml"
	stateName    = "terraform.tfstate"
	contentDir   = "content"
)

// packed is a complete archive, not stored yet.
type packed struct {
	*sealed.Sealed
	Signer string
	index  sealed.Index
}

// pack seals the stacks.
func pack(ctx context.Context, s *session.Session, o *options, to sealed.Recipients, c chosen) (*packed, error) {
	signer, err := signerOf(ctx, s, o, &c.stacks[0])
	if err != nil {
		return nil, err
	}
	w, err := sealed.NewWriter(ctx, to, "", time.Now().UTC().Truncate(time.Second))
	if err != nil {
		return nil, err
	}
	p := &packer{Session: s, Writer: w, options: o, written: map[string]bool{}}
	if err := p.addAll(ctx, c); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	header := sealed.Header{Version: version.String(), Home: s.Config.Host, HomeID: signer.HomeID, Reason: o.reason}
	for _, t := range w.Index.Stacks {
		header.Stacks = append(header.Stacks, t.Namespace+"/"+t.Name)
	}
	first := c.stacks[0]
	done, err := w.Close(header, func(text []byte) (sealed.Signature, error) {
		if signer.PublicKey == "" {
			return sealed.Signature{}, nil
		}
		return s.Content.Sign(ctx, first.Namespace, first.Name, text)
	})
	if err != nil {
		return nil, err
	}
	result := &packed{Sealed: done, index: w.Index}
	if signer.PublicKey != "" {
		result.Signer, err = sealed.Fingerprint(signer.PublicKey)
	}
	return result, err
}

// signerOf asks for the home's public key before anything is read.
func signerOf(ctx context.Context, s *session.Session, o *options, t *infrav1.Terraform) (sealed.Signature, error) {
	if o.unsigned {
		return sealed.Signature{}, nil
	}
	signer, err := s.Content.Signer(ctx, t.Namespace, t.Name)
	if apierrors.IsNotFound(err) {
		return signer, ui.Exitf(ui.ExitFailure, "archive %s: the server does not sign archives: %v.\nUpgrade it, or write an archive without a signature: --unsigned", keyOf(t), err)
	}
	if err != nil {
		return signer, fmt.Errorf("archive %s: ask for the home's signature: %w", keyOf(t), err)
	}
	return signer, nil
}

// packer adds what belongs to stacks.
type packer struct {
	*session.Session
	*sealed.Writer
	*options
	written map[string]bool
}

func (p *packer) addAll(ctx context.Context, c chosen) error {
	for i := range c.stacks {
		if err := p.addStack(ctx, &c.stacks[i]); err != nil {
			return fmt.Errorf("archive %s: %w", keyOf(&c.stacks[i]), err)
		}
		if n := i + 1; n%10 == 0 || n == len(c.stacks) {
			p.News("Sealed %d of %s.", n, ui.Count(len(c.stacks), "stack"))
		}
	}
	if c.namespace == "" {
		return nil
	}
	return p.addNamespace(ctx, c.namespace)
}

func (p *packer) addStack(ctx context.Context, t *infrav1.Terraform) error {
	st := sealed.Stack{Namespace: t.Namespace, Name: t.Name, UID: string(t.UID), Dir: "stacks/" + t.Namespace + "/" + t.Name, OwnBackend: t.KeepsOwnState()}
	if err := p.addObject(st.Dir+"/"+manifestName, t); err != nil {
		return err
	}
	if err := p.addReferences(ctx, t); err != nil {
		return err
	}
	if err := p.addState(ctx, t, &st); err != nil {
		return err
	}
	if err := p.addContent(ctx, t, &st); err != nil {
		return err
	}
	p.Index.Stacks = append(p.Index.Stacks, st)
	return nil
}

// addState adds the current state as the tool reads it, and notes its serial and lineage.
func (p *packer) addState(ctx context.Context, t *infrav1.Terraform, st *sealed.Stack) error {
	if st.OwnBackend {
		p.News("%s keeps its state in a custom backend: the archive has everything but the state.", keyOf(t))
		return nil
	}
	content, err := p.Content.OpenState(ctx, t.Namespace, t.Name)
	if apierrors.IsNotFound(err) && !session.NoStack(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	defer content.Close() //nolint:errcheck // only read
	name := st.Dir + "/" + stateName
	head := &beginning{Reader: content}
	if err := p.Add(name, head); err != nil {
		return err
	}
	st.State = name
	st.Serial, st.Lineage, st.Encrypted = head.identify()
	return nil
}

// addContent adds everything that the home's store has of the stack.
func (p *packer) addContent(ctx context.Context, t *infrav1.Terraform, st *sealed.Stack) error {
	content, err := p.Content.Export(ctx, t.Namespace, t.Name)
	if apierrors.IsNotFound(err) && !session.NoStack(err) {
		p.News("%s: the server does not export histories; the archive has only the state and the manifest.", keyOf(t))
		return nil
	}
	if err != nil {
		return fmt.Errorf("export the history: %w", err)
	}
	defer content.Close() //nolint:errcheck // only read
	manifest, err := parcel.Walk(ctx, content, func(name string, r io.Reader) error {
		switch part, rest, _ := strings.Cut(name, "/"); part {
		case parcel.StatesDir:
			if !p.versions {
				return nil
			}
			st.Versions++
		case parcel.RunsDir:
			if strings.HasSuffix(rest, "/record.json") {
				st.Runs++
			}
		}
		return p.Add(st.Dir+"/"+contentDir+"/"+name, r)
	})
	st.Damaged = slices.Clone(manifest.Damaged)
	for _, name := range st.Damaged {
		p.News("%s: %s cannot be read at the home, and is not in the archive.", keyOf(t), name)
	}
	return err
}

// beginning keeps the first bytes of a state: the tool writes its identity before everything else.
type beginning struct {
	io.Reader
	head []byte
}

// maxBeginning is enough for the fields before the outputs.
const maxBeginning = 4 << 10

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if room := maxBeginning - len(b.head); room > 0 {
		b.head = append(b.head, p[:min(n, room)]...)
	}
	return n, err
}

// identify reads serial and lineage without the rest of the state, which may be large.
func (b *beginning) identify() (serial uint64, lineage string, encrypted bool) {
	if s, err := state.NewSnapshot(b.head); err == nil && len(b.head) < maxBeginning {
		return s.Serial, s.Lineage, s.Encrypted
	}
	d := json.NewDecoder(strings.NewReader(string(b.head)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return serial, lineage, encrypted
		}
		encrypted = encrypted || key == "encrypted_data"
		var value any
		if err := d.Decode(&value); err != nil {
			return serial, lineage, encrypted
		}
		switch v := value.(type) {
		case float64:
			if key == "serial" && v >= 0 {
				serial = uint64(v)
			}
		case string:
			if key == "lineage" {
				lineage = v
			}
		}
	}
	return serial, lineage, encrypted
}
