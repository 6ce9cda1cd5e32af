// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"context"
	"net/url"
	"time"
)

// Upstream is a repository with its access.
type Upstream struct {
	// URL is https://…, http://…, ssh://… or file://….
	URL string
	// Secret is the data of the Secret with the credentials, as in Flux: username and password,
	// bearerToken, identity, known_hosts and password, ca.crt (or caFile), tls.crt and tls.key. Nil
	// for none.
	Secret map[string][]byte
	// Proxy is the proxy with its credentials: http:// or https:// for repositories of these
	// schemes, socks5:// for all. Nil for none.
	Proxy *url.URL
}

// Ref names a commit like the ref of a GitRepository. As in Flux, Commit overrides Name, then Tag,
// SemVer and Branch. The default is the branch master.
type Ref struct {
	Branch, Tag, SemVer, Name, Commit string
}

// Verify lists the required signatures of a commit.
type Verify struct {
	// Mode is HEAD (or head): the commit; Tag: the tag that Ref leads to; TagAndHEAD: both.
	Mode string
	// Keys is the data of the Secret with the public keys: SSH keys where the name ends in .sshpub,
	// else PGP keyrings.
	Keys map[string][]byte
}

// Want selects the content of an upstream.
type Want struct {
	Ref Ref
	// Verify is nil without verification.
	Verify *Verify
	// Sparse are the only directories to check out; empty means everything. All of them must exist.
	Sparse []string
	// Submodules includes submodules, recursively.
	Submodules bool
	// MaxAge is the maximum age of a shared look. Zero queries the upstream now.
	MaxAge time.Duration
}

// Found is the current content of an upstream.
type Found struct {
	// Revision is in Flux's format: main@sha1:…, v1.2.3@sha1:…, refs/pull/1/head@sha1:…, sha1:….
	Revision string
	// Commit is the commit's hash.
	Commit string
	// Verified says what is signed with which key; empty without verification.
	Verified string
	// ContentKey is equal for equal trees, whatever their names.
	ContentKey string
	// Upstream is the key of the upstream (see Mirrors.Key), which Options.News reports.
	Upstream string
	// Authors returns the e-mail addresses of the commit's author and committer, once Fetch has been
	// called; none if the mirror lacks the commit.
	Authors func(ctx context.Context) []string
	// Parent returns the hash of the commit's only parent in the same way; empty if it has none or several.
	Parent func(ctx context.Context) string
	// LeftOut lists the first few links out of the tree that Fetch excluded.
	LeftOut []string
	// Fetch writes the tree to dir, an empty directory, and first fetches what the mirror lacks.
	// After an error dir is unusable. It may be called again, and long after the look.
	Fetch func(ctx context.Context, dir string) error
}

// Options configure mirrors. Zero fields have defaults.
type Options struct {
	// FileDirs are the directories in which file:// URLs may name repositories. None by default.
	FileDirs []string
	// MaxPack limits the bytes that one fetch may receive; 1 GiB.
	MaxPack int64
	// MaxObject limits the files of a repository; 128 MiB. Unpacking needs a multiple of it in
	// memory.
	MaxObject int64
	// MaxTree and MaxEntries limit a checkout: all files in bytes, 4 GiB, and their number, 200 000.
	MaxTree    int64
	MaxEntries int64
	// Parallel is the number of packs that are unpacked or checked out concurrently; 2. It limits
	// memory.
	Parallel int
	// News receives the key of an upstream whose references changed since the last look, or that
	// responds again, right after that look: then everybody who follows the upstream can look
	// without a further request. It must return quickly; the caller of the look calls it.
	News func(upstream string)
}

func (o Options) withDefaults() Options {
	o.MaxPack = cmp.Or(o.MaxPack, 1<<30)
	o.MaxObject = cmp.Or(o.MaxObject, 128<<20)
	o.MaxTree = cmp.Or(o.MaxTree, 4<<30)
	o.MaxEntries = cmp.Or(o.MaxEntries, 200_000)
	o.Parallel = cmp.Or(o.Parallel, 2)
	if o.News == nil {
		o.News = func(string) {}
	}
	return o
}
