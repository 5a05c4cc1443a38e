const replacement = 0xfffd;

/**
 * Decodes UTF-8 byte by byte, so that chunks may end anywhere. Bytes that are not UTF-8 become U+FFFD as in browsers:
 * one for each longest beginning of a character.
 */
export function createUtf8Decoder(take: (codePoint: number) => void) {
  let codePoint = 0;
  let missing = 0;
  let [lowest, highest] = [0x80, 0xbf];

  return {
    push(byte: number): void {
      if (missing === 0 && byte < 0x80) return take(byte);
      if (missing > 0) {
        if (byte >= lowest && byte <= highest) return goOn(byte);
        missing = 0;
        take(replacement);
      }
      begin(byte);
    },
    /** Whether the last byte was in the middle of a character. */
    isInside: (): boolean => missing > 0,
    end(): void {
      if (missing > 0) take(replacement);
      missing = 0;
    },
  };

  function goOn(byte: number): void {
    [lowest, highest] = [0x80, 0xbf];
    codePoint = (codePoint << 6) | (byte & 0x3f);
    missing -= 1;
    if (missing === 0) take(codePoint);
  }

  /** The limits of the second byte exclude overlong forms, surrogates, and code points beyond Unicode. */
  function begin(byte: number): void {
    [lowest, highest] = [0x80, 0xbf];
    if (byte < 0x80) return take(byte);
    if (byte >= 0xc2 && byte <= 0xdf) [codePoint, missing] = [byte & 0x1f, 1];
    else if (byte >= 0xe0 && byte <= 0xef) {
      [codePoint, missing] = [byte & 0x0f, 2];
      if (byte === 0xe0) lowest = 0xa0;
      if (byte === 0xed) highest = 0x9f;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
      [codePoint, missing] = [byte & 0x07, 3];
      if (byte === 0xf0) lowest = 0x90;
      if (byte === 0xf4) highest = 0x8f;
    } else take(replacement);
  }
}
