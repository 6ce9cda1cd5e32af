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
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

var (
	errEmpty   = errors.New("the repository is empty")
	errSHA256  = errors.New("the repository uses SHA-256, which is not supported")
	errNotGit  = errors.New("the response is not from a git server")
	errGoesOn  = errors.New("the server keeps sending, but no references")
	errRefused = errors.New("the server does not give out the commit")
	errHistory = errors.New("the server cannot leave out history")
	errTooBig  = errors.New("it is too big")
)

// equal tells whether two adverts have the same references.
func (a *advert) equal(b *advert) bool {
	if len(a.refs) != len(b.refs) {
		return false
	}
	for name, hash := range a.refs {
		if b.refs[name] != hash {
			return false
		}
	}
	return true
}

// gives tells whether the server surely gives out hash to who asks for it over a connection,
// whatever else it allows.
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
	// shallow asks for no history, and says that the haves have none.
	shallow bool
	// thin allows deltas against objects that are not in the pack.
	thin bool
}

// encode writes the request in one piece: all there is to say is said at once, so that it is one
// request over HTTP and no dialogue elsewhere.
func (q ask) encode(given *advert) ([]byte, error) {
	if q.shallow && !given.caps.Supports(capability.Shallow) {
		return nil, errHistory
	}
	var out bytes.Buffer
	lines := pktline.NewEncoder(&out)
	for i, want := range q.wants {
		line := "want " + want.String()
		if i == 0 {
			line += " " + q.capabilities(given.caps)
		}
		if err := lines.EncodeString(line + "\n"); err != nil {
			return nil, err
		}
	}
	if q.shallow {
		for _, have := range q.haves {
			if err := lines.EncodeString("shallow " + have.String() + "\n"); err != nil {
				return nil, err
			}
		}
		if err := lines.EncodeString("deepen 1"); err != nil {
			return nil, err
		}
	}
	if err := lines.Flush(); err != nil {
		return nil, err
	}
	for _, have := range q.haves {
		if err := lines.EncodeString("have " + have.String() + "\n"); err != nil {
			return nil, err
		}
	}
	if err := lines.EncodeString("done\n"); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (q ask) capabilities(offered *capability.List) string {
	wanted := []capability.Capability{capability.MultiACKDetailed, capability.Sideband64k, capability.OFSDelta, capability.NoProgress}
	if q.thin {
		wanted = append(wanted, capability.ThinPack)
	}
	if q.shallow {
		wanted = append(wanted, capability.Shallow)
	}
	used := []string{"agent=yuba"}
	for _, one := range wanted {
		if offered.Supports(one) {
			used = append(used, one.String())
		}
	}
	return strings.Join(used, " ")
}

// maxTalk is how many bytes a server may say beside a pack: what it has in common, and its
// progress, which nobody asked for.
const maxTalk = 4 << 20

// talk is what a server may still say beside a pack.
type talk int

func (t *talk) hear(bytes int) error {
	if *t -= talk(bytes + 4); *t < 0 {
		return fmt.Errorf("%w: the server says more than %d bytes beside the pack", errTooBig, maxTalk)
	}
	return nil
}

// openPack reads what comes before a pack and returns the pack.
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
			return nil, fmt.Errorf("the server ended before it sent a pack: %w", err)
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
			return nil, fmt.Errorf("%w: it says something else than a pack", errNotGit)
		}
	}
}

// demux reads a pack that comes in lines, among others with progress or the reason of a failure.
type demux struct {
	r    *bufio.Reader
	left int
	talk talk
}

func (d *demux) Read(b []byte) (int, error) {
	for d.left == 0 {
		line := make([]byte, 4)
		if _, err := io.ReadFull(d.r, line); err != nil {
			return 0, fmt.Errorf("the server ended in the middle of a pack: %w", io.ErrUnexpectedEOF)
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
			return 0, fmt.Errorf("the server ended in the middle of a pack: %w", io.ErrUnexpectedEOF)
		}
		size := int(n) - 5
		if size == 0 || channel == 2 {
			// Pieces of nothing are no more of a pack than progress is.
			if err := d.talk.hear(size); err != nil {
				return 0, err
			}
		}
		switch channel {
		case 1:
			d.left = size
		case 2:
			if _, err := d.r.Discard(size); err != nil {
				return 0, fmt.Errorf("the server ended in the middle of a pack: %w", io.ErrUnexpectedEOF)
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

// readLine reads one line of git's protocol; the one that ends a list is empty.
func readLine(r io.Reader) ([]byte, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, fmt.Errorf("the server ended too early: %w", err)
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
		return nil, fmt.Errorf("the server ended too early: %w", err)
	}
	text := strings.TrimSpace(string(line))
	if said, isError := strings.CutPrefix(text, "ERR "); isError {
		return nil, &pktline.ErrorLine{Text: said}
	}
	return line, nil
}

// limitedReader ends with an error when there is more than there may be.
type limitedReader struct {
	r    io.Reader
	left int64
	err  error
}

func (l *limitedReader) Read(b []byte) (int, error) {
	if l.left < 0 {
		return 0, l.err
	}
	if int64(len(b)) > l.left+1 {
		b = b[:l.left+1]
	}
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return n, l.err
	}
	return n, err
}

// contextReader ends with its context, where reading itself would not.
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
