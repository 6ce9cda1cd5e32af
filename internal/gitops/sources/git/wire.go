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
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// gives reports whether the server certainly gives out hash over a connection.
func (a *advert) gives(hash plumbing.Hash) bool {
	if a.caps.Supports(capability.AllowReachableSHA1InWant) || a.caps.Supports("allow-any-sha1-in-want") {
		return true
	}
	for _, tip := range a.refs {
		if tip == hash {
			return true
		}
	}
	return false
}

// ask is a request for a pack.
type ask struct {
	wants []plumbing.Hash
	haves []plumbing.Hash
	// shallow requests no history, and says that the haves have none.
	shallow bool
	// thin allows deltas against objects outside the pack.
	thin bool
}

// encode returns the whole request: one request over HTTP, and no dialogue over ssh.
func (q ask) encode(given *advert) ([]byte, error) {
	if q.shallow && !given.caps.Supports(capability.Shallow) {
		return nil, errHistory
	}
	request := packp.NewUploadPackRequest()
	request.Wants, request.Haves = q.wants, q.haves
	if q.shallow {
		request.Shallows, request.Depth = q.haves, packp.DepthCommits(1)
	}
	if err := q.choose(request.Capabilities, given.caps); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := request.UploadRequest.Encode(&out)
	if err == nil {
		err = request.UploadHaves.Encode(&out, false)
	}
	if err == nil {
		err = pktline.NewEncoder(&out).EncodeString("done\n")
	}
	return out.Bytes(), err
}

// choose selects capabilities among the offered ones.
func (q ask) choose(chosen, offered *capability.List) error {
	wanted := []capability.Capability{capability.MultiACKDetailed, capability.Sideband64k, capability.OFSDelta, capability.NoProgress}
	if q.thin {
		wanted = append(wanted, capability.ThinPack)
	}
	if q.shallow {
		wanted = append(wanted, capability.Shallow)
	}
	err := chosen.Set(capability.Agent, "yuba")
	for _, one := range wanted {
		if offered.Supports(one) {
			err = errors.Join(err, chosen.Set(one))
		}
	}
	return err
}

// maxTalk limits what a server sends besides a pack: common commits, and progress.
const maxTalk = 4 << 20

// talk is the rest of that limit.
type talk int

func (t *talk) hear(bytes int) error {
	if *t -= talk(bytes + 4); *t < 0 {
		return tooBig("the server sends more than %d bytes besides the pack", maxTalk)
	}
	return nil
}

// openPack reads what precedes a pack, and returns the pack.
func openPack(r io.Reader, shallow bool) (io.Reader, error) {
	buffered := bufio.NewReaderSize(r, 70_000)
	left := talk(maxTalk)
	if shallow {
		for {
			line, err := readLine(buffered)
			if err == nil {
				err = left.hear(len(line))
			}
			if err != nil {
				return nil, err
			}
			if len(line) == 0 {
				break
			}
		}
	}
	for {
		start, err := buffered.Peek(5)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server stopped before it sent a pack: %w", err)
		case string(start[:4]) == "PACK":
			return buffered, nil
		case start[4] >= 1 && start[4] <= 3:
			return &demux{r: buffered, talk: left}, nil
		}
		line, err := readLine(buffered)
		if err == nil {
			err = left.hear(len(line))
		}
		if err != nil {
			return nil, err
		}
		if text := string(line); !strings.HasPrefix(text, "ACK ") && !strings.HasPrefix(text, "NAK") {
			return nil, fmt.Errorf("%w: it sends something else than a pack", errNotGit)
		}
	}
}

// errCut is a pack without its end.
var errCut = fmt.Errorf("the server stopped in the middle of a pack: %w", io.ErrUnexpectedEOF)

// demux reads a pack in lines, between lines with progress or the reason of a failure.
type demux struct {
	r    *bufio.Reader
	left int
	talk talk
}

func (d *demux) Read(b []byte) (int, error) {
	for d.left == 0 {
		line := make([]byte, 4)
		if _, err := io.ReadFull(d.r, line); err != nil {
			return 0, errCut
		}
		n, err := strconv.ParseUint(string(line), 16, 16)
		if err == nil && n == 0 {
			return 0, io.EOF
		}
		if err != nil || n < 5 {
			return 0, fmt.Errorf("%w: a line has no length", errNotGit)
		}
		channel, err := d.r.ReadByte()
		if err != nil {
			return 0, errCut
		}
		size := int(n) - 5
		if size == 0 || channel == 2 {
			// Empty pieces count like progress.
			if err := d.talk.hear(size); err != nil {
				return 0, err
			}
		}
		switch channel {
		case 1:
			d.left = size
		case 2:
			if _, err := d.r.Discard(size); err != nil {
				return 0, errCut
			}
		default:
			said, err := io.ReadAll(io.LimitReader(d.r, int64(min(size, 300))))
			return 0, errors.Join(&saidError{string(said)}, err)
		}
	}
	n, err := d.r.Read(b[:min(len(b), d.left)])
	d.left -= n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readLine reads one line of git's protocol. The line that ends a list is empty.
func readLine(r io.Reader) ([]byte, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, fmt.Errorf("the server stopped too early: %w", err)
	}
	n, err := strconv.ParseUint(string(length), 16, 16)
	if err != nil || n > 0 && n < 4 {
		return nil, fmt.Errorf("%w: a line has no length", errNotGit)
	}
	if n == 0 {
		return nil, nil
	}
	line := make([]byte, n-4)
	if _, err := io.ReadFull(r, line); err != nil {
		return nil, fmt.Errorf("the server stopped too early: %w", err)
	}
	text := strings.TrimSpace(string(line))
	if said, isError := strings.CutPrefix(text, "ERR "); isError {
		return nil, &pktline.ErrorLine{Text: said}
	}
	return line, nil
}

// contextReader fails when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
