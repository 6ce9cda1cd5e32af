// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// ReasonPushRefused is the reason if the server does not accept a commit.
const ReasonPushRefused = "PushRefused"

const branches = "refs/heads/"

// push pushes a commit with its new objects. It returns errMoved if a reference is not what given
// says; the server compares once more, so nobody's commits are lost.
func (m *mirror) push(ctx context.Context, given *advert, e Edit, base target, commit plumbing.Hash, made []*plumbing.MemoryObject) ([]string, error) {
	updates, err := m.updates(ctx, given, e, base, commit)
	if err != nil {
		return nil, err
	}
	pack, err := packOf(made)
	if err != nil {
		return nil, err
	}
	said, err := m.remote.receive(ctx, func(now *advert) ([]byte, error) {
		for _, u := range updates {
			if now.refs[u.Name.String()] != u.Old {
				return nil, errMoved
			}
		}
		return encodePush(now.caps, updates, e.Options, pack)
	})
	if err != nil {
		return nil, refusedAccess(err)
	}
	defer said.Close()
	report, words, err := readReport(said)
	if err != nil {
		if session, can := said.(interface{ explain(error) error }); can {
			err = session.explain(err)
		}
		return nil, refusedAccess(err)
	}
	if problem := judge(report, words, updates); problem != nil {
		// A lost race has as many wordings as there are servers: compare instead.
		if now, err := m.list(ctx, 0); err == nil && moved(now, updates) {
			return nil, errMoved
		}
		return nil, problem
	}
	var pushed []string
	for _, u := range updates {
		pushed = append(pushed, u.Name.String())
	}
	return pushed, nil
}

// updates returns the references to change. None of them loses a commit.
func (m *mirror) updates(ctx context.Context, given *advert, e Edit, base target, commit plumbing.Hash) ([]*packp.Command, error) {
	var updates []*packp.Command
	for _, name := range []string{branches + e.Branch, e.To} {
		if name == branches || name == "" || len(updates) > 0 && updates[0].Name.String() == name {
			continue
		}
		if err := plumbing.ReferenceName(name).Validate(); err != nil {
			return nil, impossible("%q is not a valid name of a branch or reference", name)
		}
		old := given.refs[name]
		if !old.IsZero() {
			has, err := m.contains(ctx, base, old)
			if err != nil {
				return nil, err
			}
			if !has {
				return nil, wrongRef("%s has commits that %s lacks, and a push would remove them. Merge or delete it, or push to another reference", name, base.revision())
			}
		}
		updates = append(updates, &packp.Command{Name: plumbing.ReferenceName(name), Old: old, New: commit})
	}
	if len(updates) == 0 {
		return nil, impossible("neither a branch nor a reference to push to is named")
	}
	return updates, nil
}

func moved(now *advert, updates []*packp.Command) bool {
	return slices.ContainsFunc(updates, func(u *packp.Command) bool { return now.refs[u.Name.String()] != u.Old })
}

// packOf returns a pack of complete objects.
func packOf(made []*plumbing.MemoryObject) ([]byte, error) {
	storage, hashes := memory.NewStorage(), []plumbing.Hash(nil)
	for _, object := range made {
		hash, err := storage.SetEncodedObject(object)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(hashes, hash) {
			hashes = append(hashes, hash)
		}
	}
	var out bytes.Buffer
	_, err := packfile.NewEncoder(&out, storage, false).Encode(hashes, 0)
	return out.Bytes(), err
}

func encodePush(offered *capability.List, updates []*packp.Command, options map[string]string, pack []byte) ([]byte, error) {
	request := packp.NewReferenceUpdateRequest()
	request.Commands, request.Packfile = updates, io.NopCloser(bytes.NewReader(pack))
	err := request.Capabilities.Set(capability.Agent, "yuba")
	for _, one := range []capability.Capability{capability.ReportStatus, capability.Sideband64k} {
		if offered.Supports(one) {
			err = errors.Join(err, request.Capabilities.Set(one))
		}
	}
	if !offered.Supports(capability.ReportStatus) {
		return nil, &upstream.Problem{Text: "the server does not report whether a push succeeded, which is required"}
	}
	if len(updates) > 1 && offered.Supports(capability.Atomic) {
		err = errors.Join(err, request.Capabilities.Set(capability.Atomic))
	}
	if len(options) > 0 {
		if !offered.Supports(capability.PushOptions) {
			return nil, impossible("the server does not accept push options; remove them")
		}
		err = errors.Join(err, request.Capabilities.Set(capability.PushOptions))
		for _, name := range slices.Sorted(maps.Keys(options)) {
			request.Options = append(request.Options, &packp.Option{Key: name, Value: options[name]})
		}
	}
	var out bytes.Buffer
	err = errors.Join(err, request.Encode(&out))
	return out.Bytes(), err
}

const (
	// maxReport limits the report of a server, maxWords its messages for people.
	maxReport = 1 << 20
	maxWords  = 2 << 10
)

// readReport reads the server's report, and what it says to people beside it.
func readReport(r io.Reader) (*packp.ReportStatus, string, error) {
	in := bufio.NewReader(io.LimitReader(r, 2*maxReport))
	var report, words bytes.Buffer
	for {
		line, err := readLine(in)
		if err != nil {
			return nil, words.String(), err
		}
		if len(line) == 0 {
			break
		}
		switch line[0] {
		case 1:
			report.Write(line[1:])
		case 2:
			words.Write(line[1:min(len(line), max(1, maxWords-words.Len()))])
		case 3:
			return nil, words.String(), &saidError{string(line[1:])}
		default: // without side bands, the lines are those of the report
			fmt.Fprintf(&report, "%04x%s", len(line)+4, line)
		}
	}
	if report.Len() > 0 && !bytes.HasSuffix(report.Bytes(), []byte("0000")) {
		report.WriteString("0000")
	}
	status := packp.NewReportStatus()
	if err := status.Decode(&report); err != nil {
		return nil, words.String(), fmt.Errorf("%w: its report of the push cannot be read", errNotGit)
	}
	return status, words.String(), nil
}

// judge returns why a push was refused; nil if it was not.
func judge(report *packp.ReportStatus, words string, updates []*packp.Command) error {
	if report.UnpackStatus != "ok" {
		return refusal("the server could not store the commit: it says %q", report.UnpackStatus+" "+words)
	}
	for _, u := range updates {
		status := "nothing about it"
		for _, one := range report.CommandStatuses {
			if one.ReferenceName == u.Name {
				status = one.Status
			}
		}
		if status != "ok" {
			return refusal("the server refuses the push to "+strings.TrimPrefix(u.Name.String(), branches)+": it says %q. "+
				"Allow the user of the credentials to push to this branch (branch protection, hooks), or name another branch in spec.git.push.branch", strings.TrimSuffix(status+"; "+strings.TrimSpace(words), "; "))
		}
	}
	return nil
}

func refusal(format string, said string) error {
	return &upstream.Problem{Reason: ReasonPushRefused, Text: fmt.Sprintf(format, printable(said))}
}

// refusedAccess adds which right a push needs to a refusal of the credentials: they may be sufficient
// to read.
func refusedAccess(err error) error {
	var said *saidError
	switch {
	case errors.Is(err, errDenied), errors.Is(err, errNoAccess), errors.Is(err, errNotFound):
		return &upstream.Problem{Reason: ReasonPushRefused, Text: "the server lets these credentials read, but not push. " + rightToPush}
	case errors.As(err, &said):
		return refusal("the server refuses the push: it says %q. "+rightToPush, said.text)
	}
	return err
}

const rightToPush = "Give them the right to write: GitHub's tokens need \"Contents: Read and write\", GitLab's write_repository, deploy keys write access"
