// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/yuba-dev/yuba/internal/gitops/sources/upstream"
)

// changes makes the objects of a commit: changed files, the directories above them, the commit.
type changes struct {
	ctx     context.Context
	edit    Edit
	editor  Editor
	objects *objects
	entries int64
	left    int64
	made    []*plumbing.MemoryObject
}

// start begins with the objects of a mirror; after a damaged mirror once more.
func (c *changes) start(o *objects) {
	c.objects, c.made, c.left = o, nil, c.entries
	c.editor = c.edit.Begin()
}

// tree returns the changed tree of a commit; the zero hash if nothing changed.
func (c *changes) tree(commit plumbing.Hash) (plumbing.Hash, error) {
	root, err := c.objects.root(commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	within := path.Clean("/" + c.edit.Path)[1:]
	changed, found, err := c.directory(root, "", within, 0)
	if err == nil && !found {
		err = &upstream.Problem{Text: fmt.Sprintf("there is no directory %q in %s", within, commit)}
	}
	if err != nil || changed == root {
		return plumbing.ZeroHash, err
	}
	return changed, nil
}

// directory changes the files of a directory below within; found is false if within does not exist.
func (c *changes) directory(tree plumbing.Hash, name, within string, depth int) (changed plumbing.Hash, found bool, err error) {
	if depth > maxDepth {
		return tree, false, inTree(name, "the directories are nested too deeply")
	}
	entries, err := c.objects.tree(tree)
	if err != nil {
		return tree, false, err
	}
	found, edited := within == "" || name == within, false
	for i, e := range entries {
		if err := c.ctx.Err(); err != nil {
			return tree, false, err
		}
		full := path.Join(name, e.name)
		inside := within == "" || name == within || strings.HasPrefix(name, within+"/")
		if leads := full == within || strings.HasPrefix(within, full+"/"); !inside && !leads {
			continue
		}
		if c.left--; c.left < 0 {
			return tree, false, tooBig("it has more files and directories than the limit allows")
		}
		hash, here, err := c.entry(e, full, within, depth)
		if err != nil {
			return tree, false, err
		}
		found = found || here
		if hash != e.hash {
			entries[i].hash, edited = hash, true
		}
	}
	if edited {
		tree = c.add(plumbing.TreeObject, encodeTree(entries))
	}
	return tree, found, nil
}

// entry returns the changed hash of an entry. Links and submodules are never followed.
func (c *changes) entry(e treeEntry, full, within string, depth int) (plumbing.Hash, bool, error) {
	switch e.mode {
	case modeDir:
		return c.directory(e.hash, full, within, depth+1)
	case "100644", "100755", "100664":
		if full == within || checkName(e.name) != nil || !c.edit.Wanted(full) {
			return e.hash, false, nil
		}
		hash, err := c.file(e.hash, full)
		return hash, false, err
	}
	return e.hash, false, nil
}

func (c *changes) file(hash plumbing.Hash, full string) (plumbing.Hash, error) {
	object, err := c.objects.open(hash, math.MaxInt64) // its size is checked before it is read
	if err != nil {
		return hash, err
	}
	if object.Size() > c.edit.MaxFile {
		c.editor.TooBig(full, object.Size())
		return hash, nil
	}
	var content bytes.Buffer
	if err := c.objects.write(&content, object, hash); err != nil {
		return hash, err
	}
	edited, changed := c.editor.File(full, content.Bytes())
	if !changed {
		return hash, nil
	}
	return c.add(plumbing.BlobObject, edited), nil
}

func (c *changes) add(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	object := &plumbing.MemoryObject{}
	object.SetType(kind)
	_, _ = object.Write(content) // it is in memory
	c.made = append(c.made, object)
	return object.Hash()
}

// encodeTree writes a directory. The order of its names stays as it was.
func encodeTree(entries []treeEntry) []byte {
	var out bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&out, "%s %s\x00", e.mode, e.name)
		out.Write(e.hash[:])
	}
	return out.Bytes()
}

// maxMessage limits a commit's message.
const maxMessage = 64 << 10

var errMessage = &upstream.Problem{Text: fmt.Sprintf("the commit's message has more than %d bytes, or a NUL byte", maxMessage), Stalled: true}

// commit makes the commit.
func (c *changes) commit(tree, parent plumbing.Hash, message string) (plumbing.Hash, error) {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) > maxMessage || strings.ContainsRune(message, 0) {
		return plumbing.ZeroHash, errMessage
	}
	by := c.edit.Author.line()
	var header strings.Builder
	fmt.Fprintf(&header, "tree %s\nparent %s\nauthor %s\ncommitter %s\n", tree, parent, by, by)
	content := header.String() + "\n" + message
	if c.edit.Sign != nil {
		signature, err := c.edit.Sign([]byte(content))
		if err != nil {
			return plumbing.ZeroHash, errors.Join(&upstream.Problem{Text: "the commit could not be signed with the key"}, err)
		}
		signature = strings.ReplaceAll(strings.TrimRight(signature, "\n"), "\n", "\n ")
		content = header.String() + "gpgsig " + signature + "\n\n" + message
	}
	return c.add(plumbing.CommitObject, []byte(content)), nil
}

// line is the author in a commit's header, which cannot have < > or line breaks in names.
func (a Author) line() string {
	clean := func(text string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if r < ' ' || r == '<' || r == '>' || r == 0x7f {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, "?")))
	}
	when := a.When
	if when.IsZero() {
		when = time.Now()
	}
	name, email := clean(a.Name), clean(a.Email)
	if name == "" {
		name = email
	}
	return fmt.Sprintf("%s <%s> %d +0000", name, email, when.Unix())
}
