// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxPicture bounds a picture, in bytes: pictures are part of the repository.
const maxPicture = 120_000

// What a picture shows at most, in pixels.
const pictureWidth, pictureHeight = 1280, 860

// picture writes a picture of the top of the page, in which all times are the same.
func (b *tab) picture(name string) {
	b.Helper()
	if *screenshots == "" {
		return
	}
	var shot []byte
	b.do(chromedp.EmulateViewport(pictureWidth, pictureHeight), chromedp.Evaluate(`document.querySelectorAll("time").forEach((t) => { t.textContent = "5 min ago"; })`, nil), chromedp.CaptureScreenshot(&shot))
	small, err := paletted(shot)
	if err != nil {
		b.Fatal(err)
	}
	if len(small) > maxPicture {
		b.Errorf("the picture %s has %d bytes: show less", name, len(small))
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), small, 0o644); err != nil {
		b.Fatal(err)
	}
}

// paletted reduces a picture to its 256 most frequent colours, which is all that a page has but for
// the edges of letters.
func paletted(data []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	counts := map[color.RGBA]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++ //nolint:errcheck,forcetypeassert // it converts to this
		}
	}
	var frequent []color.RGBA
	for c := range counts {
		frequent = append(frequent, c)
	}
	slices.SortFunc(frequent, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(number(a), number(b)))
	})
	const most = 256
	var palette color.Palette
	for _, c := range frequent[:min(len(frequent), most)] {
		palette = append(palette, c)
	}
	reduced := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(reduced, full.Bounds(), full, full.Bounds().Min, draw.Src)
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced)
	return out.Bytes(), err
}

func number(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}

func TestPicturesKeepTheirColours(t *testing.T) {
	original := image.NewRGBA(image.Rect(0, 0, 40, 40))
	red := color.RGBA{200, 0, 0, 255}
	draw.Draw(original, image.Rect(10, 10, 30, 30), image.NewUniform(red), image.Point{}, draw.Src)
	var data bytes.Buffer
	if err := png.Encode(&data, original); err != nil {
		t.Fatal(err)
	}
	small, err := paletted(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	again, err := png.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := again.(*image.Paletted); !ok || color.RGBAModel.Convert(again.At(20, 20)) != red {
		t.Errorf("%T with %v in its middle", again, again.At(20, 20))
	}
}
