// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
)

// database reads a bbolt file without trusting it. The bbolt library panics on damaged files,
// faults beyond their end and loops on cycles; a start must not.
type database struct {
	data []byte
	page uint64 // page size
	root uint64
	high uint64 // last used page + 1
	// transaction is the number of committed transactions.
	transaction uint64
	seen        []bool
}

// The layout of bbolt's files, version 2, unchanged since 2013.
const (
	pageHeader    = 16 // id uint64, flags uint16, count uint16, overflow uint32
	element       = 16 // of a leaf: flags, position, key and value size; of a branch: position, key size, page uint64
	bucketHeader  = 16 // root page uint64, sequence uint64
	metaSize      = 64
	metaSum       = 56
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	flagBranch    = 0x01
	flagLeaf      = 0x02
	flagBucket    = 0x01
	smallestPage  = 1 << 10
	largestPage   = 64 << 10
	deepestBucket = 2
)

var little = binary.LittleEndian

// openDatabase maps the file and finds the newest intact meta page. close unmaps it.
func openDatabase(path string) (d *database, close func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the store's database: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read the store's database: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() < 2*smallestPage {
		return nil, nil, damaged("member/snap/db is not a database: it has %d bytes", info.Size())
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("read the store's database: %w", err)
	}
	close = func() { _ = syscall.Munmap(data) } // it was only read
	d = &database{data: data}
	if err := d.readMeta(); err != nil {
		close()
		return nil, nil, err
	}
	return d, close, nil
}

func (d *database) readMeta() error {
	for size := uint64(smallestPage); size <= largestPage; size *= 2 {
		for _, at := range []uint64{0, size} {
			if at+pageHeader+metaSize > uint64(len(d.data)) {
				continue
			}
			meta := d.data[at+pageHeader:][:metaSize]
			sum := fnv.New64a()
			sum.Write(meta[:metaSum])
			whole := little.Uint32(meta) == metaMagic && little.Uint32(meta[4:]) == metaVersion &&
				uint64(little.Uint32(meta[8:])) == size && little.Uint64(meta[metaSum:]) == sum.Sum64()
			if transaction := little.Uint64(meta[48:]); whole && (d.page == 0 || transaction > d.transaction) {
				d.transaction, d.page = transaction, size
				d.root, d.high = little.Uint64(meta[16:]), little.Uint64(meta[40:])
			}
		}
	}
	switch {
	case d.page == 0:
		return damaged("member/snap/db has no intact meta page")
	case d.high > uint64(len(d.data))/d.page:
		return damaged("member/snap/db is truncated: it has %d bytes of %d", len(d.data), d.high*d.page)
	}
	d.seen = make([]bool, d.high)
	return nil
}

// walk visits every key and value of every bucket, and verifies that the pages form trees.
func (d *database) walk(visit func(bucket string, key, value []byte) error) error {
	err := d.tree(d.root, "", 0, visit)
	var known *DamageError
	if err != nil && !errors.As(err, &known) {
		return damaged("member/snap/db is damaged: %v", err)
	}
	return err
}

// at returns a page with its overflow pages, and marks them as used.
func (d *database) at(id uint64) ([]byte, error) {
	if id >= d.high || d.seen[id] {
		return nil, fmt.Errorf("page %d does not exist, or is used twice", id)
	}
	page := d.data[id*d.page:]
	overflow := uint64(little.Uint32(page[12:]))
	if little.Uint64(page) != id || overflow >= d.high-id {
		return nil, fmt.Errorf("page %d is not a page", id)
	}
	for i := id; i <= id+overflow; i++ {
		if d.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		d.seen[i] = true
	}
	return page[:(overflow+1)*d.page], nil
}

func (d *database) tree(id uint64, bucket string, depth int, visit func(string, []byte, []byte) error) error {
	page, err := d.at(id)
	if err != nil {
		return err
	}
	if flags := little.Uint16(page[8:]); flags == flagLeaf {
		return d.leaf(page, bucket, depth, visit)
	} else if flags != flagBranch {
		return fmt.Errorf("page %d has an unknown kind", id)
	}
	return elements(page, func(head []byte, at int) error {
		if _, err := part(page, at, little.Uint32(head), 0, little.Uint32(head[4:])); err != nil {
			return err
		}
		return d.tree(little.Uint64(head[8:]), bucket, depth, visit)
	})
}

func (d *database) leaf(page []byte, bucket string, depth int, visit func(string, []byte, []byte) error) error {
	var last []byte
	return elements(page, func(head []byte, at int) error {
		position, size := little.Uint32(head[4:]), little.Uint32(head[8:])
		key, err := part(page, at, position, 0, size)
		if err != nil {
			return err
		}
		value, err := part(page, at, position, size, little.Uint32(head[12:]))
		if err != nil {
			return err
		}
		if last != nil && bytes.Compare(last, key) >= 0 {
			return errors.New("keys are out of order")
		}
		last = key
		if little.Uint32(head)&flagBucket == 0 {
			return visit(bucket, key, value)
		}
		if depth++; depth > deepestBucket {
			return errors.New("buckets are nested too deep")
		}
		defer func() { depth-- }()
		return d.bucket(value, string(key), depth, visit)
	})
}

// bucket reads a bucket: a tree of its own, or a small one inline in the value.
func (d *database) bucket(value []byte, name string, depth int, visit func(string, []byte, []byte) error) error {
	if len(value) < bucketHeader {
		return fmt.Errorf("bucket %q has no header", name)
	}
	if root := little.Uint64(value); root != 0 {
		return d.tree(root, name, depth, visit)
	}
	if page := value[bucketHeader:]; len(page) >= pageHeader && little.Uint16(page[8:]) == flagLeaf {
		return d.leaf(page, name, depth, visit)
	}
	return fmt.Errorf("bucket %q has no page", name)
}

// elements visits the element headers of a page; at is the offset of one in the page.
func elements(page []byte, each func(head []byte, at int) error) error {
	count := int(little.Uint16(page[10:]))
	if pageHeader+count*element > len(page) {
		return errors.New("a page has more elements than space")
	}
	for i := range count {
		at := pageHeader + i*element
		if err := each(page[at:at+element], at); err != nil {
			return err
		}
	}
	return nil
}

// part returns size bytes of a page. position counts from the element's header.
func part(page []byte, at int, position, skip, size uint32) ([]byte, error) {
	begin := uint64(at) + uint64(position) + uint64(skip)
	if end := begin + uint64(size); end <= uint64(len(page)) {
		return page[begin:end:end], nil
	}
	return nil, errors.New("an element reaches beyond its page")
}
